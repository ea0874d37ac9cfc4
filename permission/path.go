package permission

import (
	"path"
	"strings"
)

// inside returns a path as seen from the workspace, and whether it lies in it, by
// its spelling alone; whether links lead elsewhere is for the caller to look
// (Request.Outside). A relative path starts in dir.
func inside(workspace, dir, p string) (string, bool) {
	if workspace == "" {
		workspace = "/workspace" // any: then only relative paths can be inside
	}
	if dir == "" {
		dir = workspace
	}
	if !path.IsAbs(p) {
		p = path.Join(dir, p)
	}
	p = path.Clean(p)
	if p == workspace {
		return ".", true
	}
	rel, ok := strings.CutPrefix(p, strings.TrimSuffix(workspace, "/")+"/")
	return rel, ok
}

// harmlessDevice reports whether p is a device that holds nothing.
func harmlessDevice(p string) bool {
	switch p {
	case "/dev/null", "/dev/zero", "/dev/stdin", "/dev/stdout", "/dev/stderr":
		return true
	}
	return false
}

// secretNames are names of files and folders that usually hold keys or
// passwords, in lower case; reading them asks.
var secretNames = []string{
	".env*", "*.env", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".ssh", ".gnupg", ".aws", ".azure", ".gcloud", ".kube",
	".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials", ".dockercfg",
	"credentials", "credentials.*", "*credentials.json", "secrets", "secrets.*", "*.tfstate", ".vault-token", ".terraformrc",
	"service-account*.json", ".password-store",
}

// protectedNames are names of files and folders that decide what runs later, in
// lower case; changing them asks even where edits do not.
var protectedNames = []string{
	".git", ".pawl", ".mcp.json", ".github", ".gitlab-ci.yml", ".gitlab", ".circleci", ".travis.yml", "jenkinsfile",
	".husky", ".githooks", ".gitmodules", ".gitconfig", ".gitattributes", ".pre-commit-config.yaml",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin",
	".envrc", ".vscode", ".idea", ".devcontainer", ".claude", ".cursor", ".codex",
}

// secret reports whether one of the names in p is that of a secret.
func secret(p string) bool { return nameIn(secretNames, p) != "" }

// nameIn returns the first name in p that matches one of names.
func nameIn(names []string, p string) string {
	for segment := range strings.SplitSeq(p, "/") {
		lower := strings.ToLower(segment)
		for _, n := range names {
			if ok, _ := path.Match(n, lower); ok {
				return segment
			}
		}
	}
	return ""
}

// matchPath reports whether a pattern covers a path, both relative to the
// workspace: * and ? within a name, ** any number of folders.
func matchPath(pattern, p string) bool {
	return matchSegments(strings.Split(path.Clean(pattern), "/"), strings.Split(p, "/"))
}

func matchSegments(pattern, p []string) bool {
	for len(pattern) > 0 && pattern[0] != "**" {
		if len(p) == 0 {
			return false
		}
		if ok, _ := path.Match(pattern[0], p[0]); !ok {
			return false
		}
		pattern, p = pattern[1:], p[1:]
	}
	if len(pattern) == 0 {
		return len(p) == 0
	}
	for len(pattern) > 0 && pattern[0] == "**" {
		pattern = pattern[1:]
	}
	if len(pattern) == 0 {
		return true
	}
	for i := range p {
		if matchSegments(pattern, p[i:]) {
			return true
		}
	}
	return false
}
