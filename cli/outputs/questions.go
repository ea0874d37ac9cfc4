package outputs

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pawl/cli/command"
	"pawl/output"
)

// outputQuestions are those that a document can be asked.
var outputQuestions = []outputQuestion{{
	use:   "show [ID]",
	short: "Print an output as it was written, or some lines of it",
	long: `Prints an output as it was written. Characters that a terminal would not show, or
would act on, are escaped; with --raw they are not.`,
	example: "  pawl outputs show c_3 | less\n  pawl outputs show c_3 --offset 1000 --limit 20\n  pawl outputs show c_3 --raw > output.json",
	flags: func(f *pflag.FlagSet) {
		f.Int64("offset", 0, "skip the first `n` lines, or characters where lines are very long")
		f.Int64("limit", 0, "at most `n` lines or characters; 0: all")
		f.BoolP("raw", "r", false, "as it is, not made safe for a terminal")
	},
	arguments: map[string]string{"offset": "offset", "limit": "limit"},
	ask:       output.QuestionOf((*output.Document).Read),
	print:     printText,
}, {
	use:     "stats [ID]",
	short:   "Show the size and the structure of a document",
	example: "  pawl outputs stats\n  pawl outputs stats c_3 --depth 8\n  pawl outputs stats --file big.json --schema\n  curl -s https://example.org/data | pawl outputs stats --file -",
	flags: func(f *pflag.FlagSet) {
		f.StringArray("path", nil, "only what this `path` selects; repeatable")
		f.Int("depth", 5, "levels that are shown, 1 to 10")
		f.Bool("schema", false, "a JSON Schema of it too")
	},
	arguments: map[string]string{"path": "paths", "depth": "max_depth", "schema": "include_schema"},
	ask:       output.QuestionOf((*output.Document).Stats),
}, {
	use:   "extract [ID]",
	short: "Print what paths select, one value a line",
	long: `Prints what paths select, one value a line, as JSON or with --raw strings as they are. All of it is
printed; --json gives what a model would get, which is bounded. The exit code is 1 if a path selects
nothing and there is no --default.`,
	example: `  pawl outputs extract --path '$.users[*].email' --raw
  pawl outputs extract c_3 --path '$.users[?@.score > 99]' --limit 10
  pawl outputs extract --file big.json --path '$..price' --with-paths
  curl -s https://example.org/ | pawl outputs extract --file - --path '$.a'`,
	flags: func(f *pflag.FlagSet) {
		f.StringArray("path", nil, "a `path`; repeatable (default $)")
		f.Bool("with-paths", false, "each value after its path")
		f.Bool("flatten", false, "with --json: one list of all values")
		f.String("default", "", "`JSON` for a path that selects nothing")
		f.Int("limit", 0, "at most `n` matches of each path; 0: all")
		f.Int("offset", 0, "skip the first `n` matches of each path")
		f.BoolP("raw", "r", false, "strings as they are, without quotes and escapes; not made safe for a terminal")
	},
	arguments: map[string]string{"path": "paths", "with-paths": "include_paths", "flatten": "flatten", "limit": "limit", "offset": "offset"},
	more: func(cmd *cobra.Command, positional []string, args map[string]any) ([]string, error) {
		fallback, _ := cmd.Flags().GetString("default")
		if cmd.Flags().Changed("default") {
			if !json.Valid([]byte(fallback)) {
				return nil, command.Usage("--default: %s is not JSON; a string has quotes, such as '\"none\"'", command.Quoted(fallback))
			}
			args["default_value"] = json.RawMessage(fallback)
		}
		return positional, nil
	},
	ask:   output.QuestionOf((*output.Document).Extract),
	print: printValues,
}, {
	use:   "count [ID] --count [NAME=]PATH",
	short: "Count elements, keys or matches; each count is exact",
	long: `Counts the elements of the arrays that a path selects, or the matches themselves if no array is
among them. --type counts something else.`,
	example: `  pawl outputs count --count '$.users'
  pawl outputs count c_3 --count '$.users' --filter '@.active == true'
  pawl outputs count --file big.json --count 'high=$.users[?@.score>99]'
  pawl outputs count --file big.json --count '$' --type nested_total`,
	flags: func(f *pflag.FlagSet) {
		f.StringArray("count", nil, "a `path`, optionally with a name, such as high=$.users[?@.score>99]; repeatable")
		f.String("filter", "", "count only what passes this `filter`, such as @.active == true")
		f.String("type", "", "the `type` of count: array_length, object_keys, matches, nested_total")
	},
	values: map[string][]string{"type": {"array_length", "object_keys", "matches", "nested_total"}},
	more: func(cmd *cobra.Command, positional []string, args map[string]any) ([]string, error) {
		counts, _ := cmd.Flags().GetStringArray("count")
		if len(counts) == 0 {
			return nil, command.Usage("nothing to count: give a path with --count '$.users', or --count 'high=$.users[?@.score>99]'")
		}
		var all []map[string]string
		for _, path := range counts {
			c := map[string]string{"path": path, "filter": cmd.Flag("filter").Value.String(), "count_type": cmd.Flag("type").Value.String()}
			if name, path, ok := strings.Cut(path, "="); ok && !strings.HasPrefix(name, "$") {
				c["name"], c["path"] = name, path
			}
			all = append(all, c)
		}
		args["counts"] = all
		return positional, nil
	},
	ask: output.QuestionOf((*output.Document).Count),
}, {
	use:   "sample [ID]",
	short: "Print some items of an array",
	long: `Prints some items of an array, chosen at random, in the order of the array. The same --seed
chooses the same items on every machine. Without --path the first array is used.`,
	example: `  pawl outputs sample --path '$.users' --size 5
  pawl outputs sample --strategy stratified --strata @.city --seed 7`,
	flags: func(f *pflag.FlagSet) {
		f.String("path", "", "the array, or what to choose from, as a `path`")
		f.Int("size", 10, "print `n` items, 1 to 1000")
		f.String("strategy", "random", "the `strategy`: random, first, last, systematic, stratified")
		f.Uint64("seed", 0, "seed of the random choice, to repeat it")
		f.Int("stride", 0, "distance between the items of a systematic sample")
		f.String("strata", "", "what of an item names its group, a `path` such as @.kind")
	},
	arguments: map[string]string{"path": "path", "size": "size", "strategy": "strategy", "seed": "seed", "stride": "stride", "strata": "strata_path"},
	values:    map[string][]string{"strategy": {"random", "first", "last", "systematic", "stratified"}},
	ask:       output.QuestionOf((*output.Document).Sample),
}, {
	use:   "search [ID] PATTERN",
	short: "Search lines of text, or values and names of JSON",
	long: `Finds text by a regular expression (RE2). Of JSON and JSON Lines it prints the path and the value of
whatever matches, names too; of everything else the line and its number. The exit code is 1 if nothing
matches.`,
	example: `  pawl outputs search c_3 'FAIL|panic'
  pawl outputs search 'timeout' --context 2
  pawl outputs search --file big.json '@example\.org$' --limit 1000`,
	flags: func(f *pflag.FlagSet) {
		f.Int("context", 0, "`lines` around a match, 0 to 20; of JSON, if not 0, what it is in")
		f.Int("limit", 50, "print at most `n`, up to 1000; 0: 1000. All are counted")
	},
	arguments: map[string]string{"context": "context", "limit": "limit"},
	more: func(cmd *cobra.Command, positional []string, args map[string]any) ([]string, error) {
		if len(positional) == 0 {
			return nil, command.Usage("no pattern: give one, such as 'FAIL|panic'")
		}
		if cmd.Flags().Changed("limit") && cmd.Flag("limit").Value.String() == "0" {
			args["limit"] = 1000
		}
		last := len(positional) - 1
		args["pattern"] = positional[last]
		return positional[:last], nil
	},
	ask: output.QuestionOf((*output.Document).Search),
}, {
	use:   "aggregate [ID]",
	short: "Compute a sum, average, minimum, maximum or count, by group",
	long: `Computes a figure of the items of an array, or of each group of them. Sums are exact. Without --path
it is the first array, without --value the items themselves.`,
	example: `  pawl outputs aggregate --path '$.orders' --value @.price --op sum --by @.city
  pawl outputs aggregate --file big.json --path '$.users[*].email' --op distinct`,
	flags: func(f *pflag.FlagSet) {
		f.String("path", "", "the items, as a `path`")
		f.String("value", "", "the value within an item, a `path` such as @.price")
		f.String("by", "", "what groups items, a `path` such as @.city")
		f.String("op", "count", "the `operation`: sum, avg, min, max, count, distinct")
	},
	arguments: map[string]string{"path": "path", "value": "value_path", "by": "group_by", "op": "op"},
	values:    map[string][]string{"op": {"sum", "avg", "min", "max", "count", "distinct"}},
	ask:       output.QuestionOf((*output.Document).Aggregate),
}}
