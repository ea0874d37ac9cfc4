package screen

import "strings"

// Reflows reports whether the terminal that the environment describes is known to break lines anew
// when its width changes. xterm, rxvt, the consoles of Linux and GNU screen do not.
func Reflows(getenv func(name string) string) bool {
	switch {
	case getenv("TMUX") != "":
		return true
	case getenv("STY") != "", getenv("XTERM_VERSION") != "":
		return false
	}
	for _, name := range []string{"VTE_VERSION", "KITTY_WINDOW_ID", "WT_SESSION", "ALACRITTY_WINDOW_ID", "KONSOLE_VERSION"} {
		if getenv(name) != "" {
			return true
		}
	}
	switch getenv("TERM_PROGRAM") {
	case "iTerm.app", "WezTerm", "ghostty", "vscode", "Apple_Terminal", "mintty":
		return true
	}
	switch term := getenv("TERM"); {
	case strings.HasPrefix(term, "tmux"), strings.HasPrefix(term, "foot"), strings.HasPrefix(term, "alacritty"), term == "xterm-kitty", term == "xterm-ghostty", term == "wezterm":
		return true
	}
	return false
}

// ReflowsVersion reports the same of a terminal that has answered XTVERSION (CSI > q) with version,
// such as "tmux 3.5a", "VTE(7600)" or "XTerm(390)".
func ReflowsVersion(version string) bool {
	version = strings.ToLower(version)
	for _, name := range []string{"tmux", "vte", "kitty", "iterm2", "wezterm", "ghostty", "foot", "konsole", "alacritty", "contour", "mintty", "xterm.js", "windows terminal"} {
		if strings.HasPrefix(version, name) {
			return true
		}
	}
	return false
}
