package permission

import (
	"path"
	"strings"
)

// versioned are programs that only say who they are when that is all they are
// asked, with how that is asked beside --version and --help. Others might do
// anything with it: yarn, pnpm, cargo, rustc and pytest run what the folder they are in
// names.
var versioned = map[string]string{
	"node": "-v -h", "npm": "-v -h", "npx": "-v", "bun": "-v", "deno": "-V -h",
	"python": "-V -VV -h", "python2": "-V", "python3": "-V -VV -h", "pip": "-V -h", "pip3": "-V -h", "uv": "-V",
	"ruby": "-v", "gem": "-v", "perl": "-v", "php": "-v", "java": "-version", "javac": "-version",
	"gcc": "-v", "g++": "-v", "clang": "-v", "cc": "-v", "make": "-v", "cmake": "", "ninja": "",
	"docker": "-v", "kubectl": "", "terraform": "-v", "gh": "", "aws": "", "gcloud": "", "curl": "-V", "wget": "-V", "tar": "", "bash": "", "zsh": "", "sh": "",
	"rg": "-V", "jq": "-V", "git": "-v", "go": "", "protoc": "", "sqlite3": "-version", "psql": "-V", "openssl": "", "ssh": "-V", "gofmt": "-h",
	"less": "-V", "vim": "", "tmux": "-V", "awk": "-V -W", "gawk": "-V", "sed": "", "grep": "-V", "find": "", "lua": "-v", "gdb": "-v", "strace": "-V", "nproc": "",
}

// asksVersion reports whether p only asks a program who it is.
func asksVersion(p *simpleCommand) bool {
	options, ok := versioned[p.program()]
	if !ok || len(p.words) != 2 || p.words[1].kind != static {
		return false
	}
	t := p.words[1].text
	return t == "--version" || t == "--help" && p.program() != "git" || t != "" && has(options, t)
}

// named must be named by a rule that is to cover them; a bare "*" does not. They
// run other programs, change what later commands mean, or delete.
var named = set(`
	python python2 python3 pypy perl ruby node deno bun php lua luajit tclsh wish osascript expect gdb lldb R Rscript irb julia ghci scala groovy jshell elixir iex erl sbcl guile racket
	make gmake ninja rake gradle mvn ant vim vi view nvim ed ex emacs nano pico less more most man m4 awk gawk mawk nawk sqlite3 psql mysql redis-cli mongo mongosh
	rm rmdir unlink shred truncate dd mkfs fdisk parted wipefs srm trash del erase rd sgdisk blkdiscard mkswap
	alias unalias hash enable trap set unset shopt eval source . export read readonly mapfile readarray history bind complete compgen fc let declare typeset local ulimit umask kill killall pkill
	crontab systemctl launchctl service nc ncat netcat socat telnet openssl gpg ssh-keygen ssh-agent ssh-add security
	docker podman nerdctl kubectl helm terraform tofu ansible ansible-playbook vagrant
	mount umount chroot insmod modprobe iptables nft reboot shutdown halt poweroff init telinit sysctl
	csh tcsh rc elvish nu xonsh pwsh powershell cmd`)

// deletes are the programs whose work is to delete or to move away.
var deletes = set("rm rmdir unlink shred truncate dd mv srm trash find rsync wipefs")

// needsName reports whether a rule must name a program to cover it.
func needsName(program string) bool {
	base := strings.ToLower(path.Base(program))
	whole := base
	base = strings.TrimRight(base, "0123456789.-")
	_, wraps := wrappers[base]
	return wraps || shells[base] || joiners[base] || named[base] || named[whole] || strings.HasPrefix(whole, "mkfs.")
}

// interpreters run a program of their language, and how their options give its
// text: letters of short options and long ones. From their manuals (Python 3.13,
// Node 24, Perl 5.42, Ruby 3.4, PHP 8.4, Lua 5.4), read 2026-11-20.
var interpreters = map[string]hazard{
	"python": {short: "cm", long: "--check-hash-based-pycs"}, "python2": {short: "cm"}, "python3": {short: "cm"}, "pypy": {short: "cm"}, "pypy3": {short: "cm"},
	"node": {short: "eprC", long: "--eval --print --require --import --loader --experimental-loader --env-file --run --inspect-brk --inspect"},
	"bun":  {short: "epr", long: "--eval --print --preload --require"}, "deno": {commands: "eval repl", long: "--allow-all --allow-run --allow-write --preload"},
	"perl": {short: "eEnpiMmIxd"}, "ruby": {short: "enpirIxS", long: "--require"}, "php": {short: "rBREa", long: "--run"},
	"lua": {short: "el"}, "luajit": {short: "elb"}, "julia": {short: "eEL", long: "--eval --print --load"}, "Rscript": {short: "e"},
	"osascript": {short: "e"}, "tclsh": {}, "elixir": {short: "er", long: "--eval"}, "R": {short: "ef", long: "--file"}, "octave": {long: "--eval"},
	"xonsh": {short: "c"}, "nu": {short: "ce", long: "--commands --execute"}, "elvish": {short: "c"}, "groovy": {short: "e"}, "scala": {short: "e"},
}

// interpreter returns the entry of a program, also of one with a version
// (python3.12).
func interpreter(name string) (hazard, bool) {
	h, ok := interpreters[name]
	if !ok {
		h, ok = interpreters[strings.TrimRight(name, "0123456789.")]
	}
	return h, ok
}

// readsProgram reports whether an interpreter is given neither a file nor a text to
// run, so that it runs what comes from its input.
func readsProgram(p *simpleCommand, h hazard) bool {
	for _, w := range p.words[1:] {
		if w.kind == static && (!strings.HasPrefix(w.text, "-") || h.names(w.text)) {
			return false
		}
	}
	return !asksVersion(p)
}
