package permission

import "strings"

// A hazard is what makes a program run another one, write a file somewhere else,
// delete, or load code: no rule with a wildcard alone covers it.
type hazard struct {
	commands string // its own commands, separated by blanks
	short    string // letters of short options
	long     string // long options; abbreviations of them count too
	single   string // long options with one hyphen or two: -exec, --exec
	prefixes string // beginnings of operands: of=
	within   string // what may stand anywhere in an operand, in small letters
}

// hazards are those of the programs that are not known to read (see programs for
// those). The list is what the common ones are known for (gtfobins.github.io and
// their manuals, read 2026-11-20); for a program that is not here a rule with a
// wildcard covers all its options, as the person wrote it.
var hazards = map[string]hazard{
	"tar":    {short: "IFPML", long: "--multi-volume --tape-length --to-command --checkpoint-action --use-compress-program --rsh-command --info-script --new-volume-script --rmt-command --remove-files --absolute-names --one-top-level"},
	"rsync":  {short: "eM", long: "--rsh --rsync-path --remote-option --delete --delete-before --delete-after --delete-excluded --remove-source-files --log-file --write-batch --daemon --config"},
	"ssh":    {short: "oFSEILRDWwJi"},
	"scp":    {short: "oFSDJi"},
	"sftp":   {short: "oFSDJbi"},
	"make":   {short: "fCIE", long: "--eval --file --makefile --directory --include-dir", prefixes: "SHELL= MAKEFLAGS= MAKEFILES= PATH= LD_PRELOAD= BASH_ENV= CC= LD= AR= .SHELLFLAGS MAKE= CXX= GNUMAKEFLAGS=", within: "$( ${ !="},
	"curl":   {short: "oOJKDcTEx", within: "file: scp: sftp: smb: smbs: dict: gopher: gophers: tftp: telnet: ldap: ldaps: ftp: ftps: imap: pop3: smtp: rtsp: mqtt:", long: "--output --output-dir --remote-name --remote-name-all --remote-header-name --config --dump-header --cookie-jar --trace --trace-ascii --stderr --libcurl --hsts --alt-svc --etag-save --upload-file --unix-socket --abstract-unix-socket --engine --proxy --preproxy --resolve --connect-to --write-out --create-file-mode --netrc --netrc-file --key --cert"},
	"wget":   {short: "OPaoie", long: "--output-document --directory-prefix --output-file --append-output --input-file --execute --use-askpass --config --post-file --body-file --hsts-file --save-cookies --rejected-log --warc-file"},
	"man":    {short: "PHlC", long: "--pager --html --local-file --config-file --preprocessor"},
	"docker": containers, "podman": containers, "nerdctl": containers,
	"kubectl":   {commands: "exec run apply create delete edit replace patch cp attach debug port-forward proxy drain cordon uncordon label annotate scale set rollout config plugin kustomize expose autoscale taint certificate auth", long: "--kubeconfig --exec-auth"},
	"helm":      {commands: "install upgrade uninstall delete rollback plugin push registry repo create package test", long: "--post-renderer --kubeconfig"},
	"terraform": {commands: "apply destroy import taint untaint console init state workspace force-unlock login", single: "chdir plugin-dir"},
	"gh":        {commands: "alias extension ext api auth gist secret ssh-key gpg-key codespace cs repo release variable run workflow config"},
	"npm":       {commands: "exec x explore edit config set publish unpublish deprecate owner token login adduser star team access hook profile init create", long: "--script-shell --node-options --userconfig --globalconfig --prefix --call --init-module --editor --viewer --shell --git --node-gyp --python --cache", short: "C"},
	"pnpm":      {commands: "exec dlx publish config create patch-commit", long: "--script-shell --node-options --dir --config --node-gyp --python", short: "C"},
	"yarn":      {commands: "exec dlx publish config create plugin npm node", long: "--use-yarnrc --cwd"},
	"pip":       {long: "--target --root --prefix --src --log --editable --config-settings --global-option --python --editor --keyring-provider", short: "te"}, "pip3": {long: "--target --root --prefix --src --log --editable --config-settings --global-option --python --editor --keyring-provider", short: "te"},
	"pytest": {short: "cpo", prefixes: "html: xml: json: lcov: annotate: markdown:", within: "cov-report=html: cov-report=xml: cov-report=json: cov-report=lcov: cov-report=annotate: cov-report=markdown:",
		long: "--basetemp --rootdir --confcutdir --override-ini --junitxml --junit-xml --log-file --debug --html --json-report-file --pdbcls --pastebin --report-log --resultlog"},
	"cargo":     {commands: "run r install uninstall publish login owner yank clean fix", short: "C", long: "--config --target-dir --artifact-dir --out-dir --manifest-path", prefixes: "+"},
	"rustc":     {short: "oCL", long: "--out-dir"},
	"eslint":    {short: "cof", long: "--config --rulesdir --plugin --resolve-plugins-relative-to --output-file --parser --format --cache-location"},
	"prettier":  {long: "--config --plugin --plugin-search-dir --find-config-path"},
	"jest":      {short: "c", long: "--config --globalSetup --setupFiles --runner --testEnvironment --rootDir --outputFile --coverageDirectory --cacheDirectory"},
	"stylelint": {short: "co", long: "--config --config-basedir --custom-syntax --custom-formatter --output-file --cache-location"},
	"pylint":    {long: "--rcfile --load-plugins --init-hook --output --generate-toml-config"}, "flake8": {long: "--config --append-config --output-file --tee"},
	"rubocop": {short: "roc", long: "--require --out --config --plugin --cache-root"}, "rspec": {short: "o", long: "--out --options"},
	"phpunit": {prefixes: "--log --coverage- --testdox- --cache-directory"},
	"javac":   {single: "processor processorpath processor-path", prefixes: "-J -Xplugin"},
	"tsc":     {short: "pb", long: "--project --outDir --outFile --build --plugins --generateTrace"},
	"mvn":     {short: "fsD", single: "t toolchains gs global-settings gt global-toolchains settings file l log-file", prefixes: "exec:"},
	"gradle":  {short: "IbcgPD", long: "--gradle-user-home --init-script --build-file --settings-file --include-build --project-dir"},
	"sqlite3": sqlite, "sqlcipher": sqlite, "duckdb": sqlite,
	"psql":  {short: "ofLc", long: "--output --file --log-file --command"},
	"mysql": mysql, "mariadb": mysql,
	"lftp":  {short: "cfe"},
	"zip":   {short: "Tm", long: "--unzip-command --test --move"},
	"7z":    {prefixes: "-o -w"},
	"split": {long: "--filter"},
	"gcc":   compilers, "g++": compilers, "cc": compilers, "clang": compilers, "clang++": compilers, "c++": compilers,
	"openssl": {single: "out config engine provider writerand rand"},
	"tcpdump": {short: "wzZ"},
	"nmap":    {short: "o", long: "--script --interactive"},
	"dd":      {prefixes: "of="},
	"cp":      {prefixes: "/dev/"},
	"mv":      {prefixes: "/dev/"},
	"install": {short: "s", long: "--strip-program --strip", prefixes: "/dev/"},
	"ln":      {prefixes: "/dev/"},
	"vim":     editors, "vi": editors, "nvim": editors, "view": editors, "ex": editors, "emacs": {short: "lf", long: "--load --eval --execute --batch --script --funcall", single: "batch eval l f"},
	"less":    {short: "oOk", long: "--log-file --lesskey-file --lesskey-src", prefixes: "+"},
	"more":    {prefixes: "+"},
	"gdb":     {short: "xe", single: "ex x iex command eval-command batch args"},
	"lldb":    {short: "osSOQ"},
	"date":    {short: "s", long: "--set"},
	"git-lfs": {commands: "smudge clean filter-process"},
	"hg":      {long: "--config --cwd --debugger", commands: "debug"},
	"svn":     {long: "--config-option --editor-cmd --diff-cmd --diff3-cmd --config-dir"},
	"ansible": {short: "ame"},
	"bundle":  {commands: "exec console open"},
	"uv":      {commands: "run tool"},
	"poetry":  {commands: "run shell"},
	"brew":    {commands: "sh ruby irb edit tap"},
	"apt":     {short: "oc", long: "--option --config-file"}, "apt-get": {short: "oc", long: "--option --config-file"},
	"dpkg":    {short: "i", long: "--install --pre-invoke --post-invoke"},
	"rpm":     {long: "--eval --pipe --define"},
	"adb":     {commands: "shell"},
	"code":    {long: "--install-extension --user-data-dir --extensions-dir"},
	"cmake":   {short: "EPDC", long: "--build --install"},
	"crontab": {short: "er"},
	"mapfile": {short: "C"}, "readarray": {short: "C"}, "history": {short: "wanrs"},
	"systemctl":   {commands: "edit link enable start restart stop daemon-reload set-environment", short: "H", long: "--host"},
	"journalctl":  {long: "--vacuum-size --vacuum-time --vacuum-files --rotate --flush"},
	"ip":          {commands: "netns", short: "b", long: "-batch"},
	"pip-compile": {short: "o", long: "--output-file"},
	"black":       {long: "--config --code", short: "c"},
	"ruff":        {long: "--config --output-file", short: "o"},
	"mypy":        {long: "--config-file --install-types --python-executable --cache-dir --junit-xml", within: "-report"},
	"yq":          {short: "i", long: "--inplace --in-place --from-file --split-exp"},
	"perf":        {short: "o"},
	"ping":        resolvers, "ping6": resolvers, "nslookup": resolvers, "dig": resolvers, "host": resolvers, "drill": resolvers,
	"traceroute": resolvers, "tracepath": resolvers, "mtr": resolvers, "whois": resolvers, "getent": resolvers, "resolvectl": resolvers,
}

var (
	containers = hazard{commands: "run exec create cp build buildx compose rm rmi kill stop system volume network swarm service stack plugin push login commit import load save context container image builder unshare machine generate play kube", long: "--config --host", short: "H"}
	compilers  = hazard{single: "wrapper fplugin specs fdump plugin", short: "B", prefixes: "@"}
	sqlite     = hazard{single: "cmd init c f s", prefixes: ".", within: "writefile( load_extension( edit( attach"}
	mysql      = hazard{short: "e", long: "--pager --tee --execute --init-command"}
	editors    = hazard{short: "cSsuUwWi", long: "--cmd --startuptime --remote --remote-send --remote-expr", prefixes: "+"}
	// A name that is looked up tells whoever answers for its domain what it is, and
	// it may hold anything: hosts are words that a rule has to spell out.
	resolvers = hazard{short: "f"}
)

// names reports whether an option or operand is one of h's, apart from commands.
func (h hazard) names(t string) bool {
	for prefix := range strings.FieldsSeq(h.prefixes) {
		if strings.HasPrefix(t, prefix) {
			return true
		}
	}
	for part := range strings.FieldsSeq(h.within) {
		if strings.Contains(strings.ToLower(t), part) {
			return true
		}
	}
	if len(t) < 2 || t[0] != '-' {
		return false
	}
	option, _, _ := strings.Cut(strings.TrimLeft(t, "-"), "=")
	if h.single != "" && has(h.single, option) {
		return true
	}
	for l := range strings.FieldsSeq(h.long) {
		// Some programs take long options with one hyphen, too.
		if hasAny(t, l) || t[1] != '-' && len(option) > 3 && hasAny("-"+t, l) {
			return true
		}
	}
	if t[1] == '-' {
		return false
	}
	for i := 1; i < len(t) && t[i] != '=' && t[i] != '/' && t[i] != '.'; i++ {
		if strings.IndexByte(h.short, t[i]) >= 0 {
			return true
		}
	}
	return false
}

// hazardsOf returns the hazards among the words of a program that is not known to
// read.
func hazardsOf(name string, words []word) []string {
	h, ok := hazards[name]
	if !ok {
		if h, ok = interpreter(name); !ok && !is(name, optionFiles) {
			return nil
		}
	}
	var found []string
	if len(words) > 2 && words[0].text == "-m" && words[1].text == "pytest" {
		found = hazardsOf("pytest", words[2:])
	}
	operand, options := 0, false
	for _, w := range words {
		t := w.text
		if h.names(t) || is(name, optionFiles) && strings.HasPrefix(t, "@") {
			found = append(found, t)
		}
		if strings.HasPrefix(t, "-") {
			options = options || operand == 0
			continue
		}
		operand++
		// The first operand is the command, unless options stand before it, whose
		// values cannot be told from it.
		if h.commands != "" && (operand == 1 || options) && has(h.commands, t) {
			found = append(found, t)
		}
		// A server that is named gets the question, whatever name is asked about.
		server := strings.HasPrefix(t, "@") || operand > 1 && (name == "nslookup" || name == "host")
		if is(name, looksUp) && (server || isName(t)) {
			found = append(found, t)
		}
	}
	if name == "tar" {
		for _, w := range words { // an archive on another machine is fetched by a program
			if host, _, ok := strings.Cut(w.text, ":"); ok && !strings.Contains(host, "/") {
				found = append(found, w.text)
			}
		}
	}
	if name == "tar" && len(words) > 0 { // "tar IcF x": the first word needs no hyphen
		if t := words[0].text; !strings.HasPrefix(t, "-") && strings.ContainsAny(t, "IFP") && strings.Trim(t, "cxtruvzjJpfkmIFPahoWOSwlU") == "" {
			found = append(found, t)
		}
	}
	return found
}

// isName reports whether an operand is the name of a host that would be looked up:
// it has letters and a dot, and is no address. An @server of dig counts too.
func isName(t string) bool {
	t = strings.TrimPrefix(t, "@")
	_, numeric := looseAddr(t)
	return !numeric && strings.Contains(t, ".") && strings.ContainsFunc(t, func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80 })
}

// shortOptions returns what follows the hyphen of a word with one: letters of options, and what the
// last one is given.
func shortOptions(word string) (letters string, ok bool) {
	letters, ok = strings.CutPrefix(word, "-")
	return letters, ok && !strings.HasPrefix(letters, "-")
}

// nameChars are the characters of names of variables.
const nameChars = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

func nameByte(c byte) bool { return strings.ContainsRune(nameChars, rune(c)) }

// consistsOf reports whether all characters of s are among chars.
func consistsOf(s, chars string) bool { return strings.Trim(s, chars) == "" }
