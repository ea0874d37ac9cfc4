package permission

import "strings"

// optionsOnly returns what is known of a program that reads if all its options are
// among known, "=" behind one that takes a value after a sign of equality, ":" behind
// one that takes the next word.
func optionsOnly(words []word, known string) look {
	l := look{reads: true}
	for i := 0; i < len(words); i++ {
		t := words[i].text
		if !strings.HasPrefix(t, "-") {
			l.paths = append(l.paths, words[i])
			continue
		}
		name, _, hasValue := strings.Cut(t, "=")
		switch {
		case hasValue && has(known, name+"="), !hasValue && has(known, name):
		case !hasValue && has(known, name+":"):
			i++
		default:
			l.hazards = append(l.hazards, t)
		}
	}
	return l
}

// lookAtTest looks at the words of [[ … ]]: what could be a file's name is looked
// for, no more.
func lookAtTest(words []word) look {
	l := look{reads: true}
	for _, w := range words {
		if looksLikePath(w.text) {
			l.paths = append(l.paths, w)
		}
	}
	return l
}

// lookAtGofmt looks at the words behind "gofmt", which lists, shows a difference
// or prints unless it is told to write. From "gofmt -h" of Go 1.26, read 2026-11-20.
func lookAtGofmt(words []word) look { return optionsOnly(words, "-l -d -e -s -h") }

// lookAtPip looks at the words behind "pip"; from "pip help" of pip 26, read
// 2026-11-20.
func lookAtPip(words []word) look {
	if len(words) > 0 && words[0].kind == static {
		switch words[0].text {
		case "list", "freeze":
			return optionsOnly(words[1:], "--format= --not-required --user --local --all --pre -v -q -l --no-color --disable-pip-version-check")
		case "show":
			l := optionsOnly(words[1:], "-f --files -v --verbose")
			l.paths = nil // names of packages
			return l
		case "check":
			return optionsOnly(words[1:], "")
		}
	}
	return look{paths: possiblePaths(words), hazards: hazardsOf("pip", words)}
}

// lookAtNpm looks at the words behind "npm": what only reads package.json and
// node_modules. What asks the registry, or runs scripts, is not among it. From
// "npm help" of npm 11, read 2026-11-20.
func lookAtNpm(words []word) look {
	const options = "--depth= --depth: --all -a --json --long -l --parseable -p -g --global --prod --dev --omit= --include= --workspaces -ws --silent -s"
	if len(words) > 0 && words[0].kind == static {
		switch words[0].text {
		case "ls", "list", "ll", "la", "explain", "why", "root", "prefix", "help":
			l := optionsOnly(words[1:], options)
			l.paths = nil // names of packages
			return l
		case "run", "run-script": // without the name of a script it lists them
			if l := optionsOnly(words[1:], "--json -s --silent"); len(l.paths) == 0 && len(l.hazards) == 0 {
				return l
			}
		case "pkg", "config", "c":
			if len(words) > 1 && words[1].kind == static && (words[1].text == "get" || words[1].text == "list" || words[1].text == "ls") {
				l := optionsOnly(words[2:], "--json")
				l.paths = nil // names of keys; npm shows no secret ones
				return l
			}
		}
	}
	return look{paths: possiblePaths(words), hazards: hazardsOf("npm", words)}
}

// lookAtPs looks at the words behind "ps", which takes options in three styles
// (procps 4, read 2026-11-20). "e" without a hyphen shows environments, and with
// them secrets.
func lookAtPs(words []word) look {
	l := look{reads: true}
	for i := 0; i < len(words); i++ {
		t := words[i].text
		switch {
		case strings.HasPrefix(t, "--"):
			name, _, _ := strings.Cut(t, "=")
			if !has("--sort --forest --pid --ppid --user --no-headers --headers --format --cols --width", name) {
				l.hazards = append(l.hazards, t)
			}
		case strings.HasPrefix(t, "-"):
			if strings.ContainsAny(t[len(t)-1:], "opuCtgG") && i+1 < len(words) {
				i++
			}
			if strings.Trim(t[1:], "eAafFlHwTLMjyocpuCtgGm0123456789") != "" {
				l.hazards = append(l.hazards, t)
			}
			if has("-o -eo -Ao", t) && strings.Contains(words[i].text, "environ") {
				l.hazards = append(l.hazards, words[i].text)
			}
		case strings.Trim(t, "axufjlwvrTHmLsh") != "" && strings.Trim(t, "0123456789,") != "":
			l.hazards = append(l.hazards, t)
		}
	}
	return l
}

// lookAtTar looks at the words behind "tar": listing an archive reads, unless it is
// one on another machine, or any other option is given.
func lookAtTar(words []word) look {
	l := look{paths: possiblePaths(words), hazards: hazardsOf("tar", words)}
	if len(words) < 2 || words[0].kind != static {
		return l
	}
	mode := strings.TrimPrefix(words[0].text, "-")
	if !strings.Contains(mode, "t") || strings.Trim(mode, "tvzjJf") != "" || strings.Count(mode, "t") != 1 {
		return l
	}
	l.reads = true
	for _, w := range words[1:] {
		if strings.HasPrefix(w.text, "-") || strings.Contains(w.text, ":") {
			l.hazards = append(l.hazards, w.text)
		}
	}
	return l
}
