package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pawl/internal/atomicfile"
	"pawl/internal/text"
	"pawl/internal/visible"
)

// foreignKeys are settings of other agents, and what says the same here. Codex:
// developers.openai.com/codex/config-reference; Claude Code:
// code.claude.com/docs/en/settings; OpenCode: opencode.ai/docs/config; read 2026-11-22.
var foreignKeys = map[string]string{
	"approval_policy": `on_ask = "deny"`, "sandbox_mode": `mode = "plan" (read-only) or "accept-edits" (workspace-write)`,
	"model_provider": `model = "provider/name"`, "model_providers": "[providers.NAME] in models.toml", "provider": `model = "provider/name"`, "providers": "[providers.NAME] in models.toml",
	"models": "models.toml beside this file", "model_context_window": "window", "permissions": "allow, ask and deny, lists of rules",
	"permission": "allow, ask and deny, lists of rules", "defaultMode": "mode", "permission_mode": "mode", "max_turns": "max_steps", "max_budget_usd": "max_cost",
	"debug": "PAWL_LOG=debug in the environment", "home": "PAWL_STATE_DIR in the environment", "model_name": "model",
	"theme": "NO_COLOR=1 for no colours; pawl takes those of the terminal", "sandbox": "pawl permissions add RULE --sandbox network, for some commands", "hooks": "nothing: pawl has no hooks yet",
	"mcpServers": "a table [mcp.NAME] for each server", "mcp_servers": "a table [mcp.NAME] for each server", "api": "models.toml beside this file", "base_url": "base_url in models.toml, or ANTHROPIC_BASE_URL", "temperature": "nothing: models answer with their own default",
	"verbose": "PAWL_LOG=debug in the environment", "editor": "EDITOR in the environment", "reasoning_effort": "effort", "model_reasoning_effort": "effort", "max_budget": "max_cost", "small_model": "fallback_model",
	"env": "variables of the environment; pass_env passes one on to commands",
}

// CheckUserFile returns what is wrong with the user's file; nil also if it does not exist.
func (e Env) CheckUserFile() error {
	content, err := readFile(e.UserFile())
	if err == nil {
		_, err = parseFile(e.UserFile(), content, nil)
	}
	return err
}

// readFile reads a configuration file. One that does not exist is empty.
func readFile(path string) ([]byte, error) {
	content, err := atomicfile.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, Errorf("the configuration cannot be read: %w", err)
	}
	return content, nil
}

// ReadBounded returns the content of a regular file that has at most so many bytes.
func ReadBounded(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > most:
		return nil, fmt.Errorf("it is larger than %s", text.Size(most))
	}
	return atomicfile.Read(path)
}

// parseFile parses the content of a configuration file. counts, if not nil, reports which
// keys count; the others are skipped.
func parseFile(path string, content []byte, counts func(name string) bool) (map[string][]string, error) {
	var raw map[string]any
	if err := toml.Unmarshal(content, &raw); err != nil {
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := at.Position()
			hint := ""
			if strings.Contains(err.Error(), "at start of value") {
				hint = `; text needs quotes, such as model = "sonnet"`
			}
			return nil, Errorf("%s, line %d: %s%s", path, line, strings.TrimPrefix(err.Error(), "toml: "), hint)
		}
		return nil, Errorf("%s: %w", path, err)
	}
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	values := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if counts != nil && !counts(name) {
			continue
		}
		if _, isTable := raw[name].(map[string]any); isTable && (name == serversKey || name == secretsKey) {
			continue // see parseTables
		}
		i := slices.Index(names, name)
		if i < 0 {
			if ours := foreignKeys[name]; ours != "" {
				return nil, Errorf("%s: unknown key %s: use %s", path, visible.Quote(name), ours)
			}
			return nil, Errorf("%s: unknown key %s%s", path, visible.Quote(name), text.DidYouMean(name, names))
		}
		list, isList := raw[name].([]any)
		switch {
		case isList && !keys[i].List:
			return nil, Errorf("%s: %s must be one value", path, name)
		case !isList && keys[i].List:
			return nil, Errorf("%s: %s must be a list, such as [\"shell(go test *)\"]", path, name)
		case !isList:
			list = []any{raw[name]}
		}
		for _, v := range list {
			switch v := v.(type) {
			case string, int64:
				values[name] = append(values[name], fmt.Sprint(v))
			case float64: // 1e8 is a whole number
				values[name] = append(values[name], strconv.FormatFloat(v, 'f', -1, 64))
			default:
				if on, isBool := v.(bool); isBool && keys[i].Check("on") == nil {
					return nil, Errorf("%s: write %s = %q", path, name, foreignValues[strconv.FormatBool(on)])
				}
				return nil, Errorf("%s: %s has a value that is neither text nor a number", path, name)
			}
		}
	}
	return values, nil
}
