package permission

import (
	"path"
	"strings"
)

// secretNames are names of files and folders that usually hold keys or
// passwords, in lower case; reading them asks. Patterns of path.Match.
var secretNames = names(
	"*.env", ".env.*", ".env-*", ".env_*", ".env~", "#.env*", ".envrc", ".dev.vars*", ".vault_pass*", ".secrets", ".token", "*.pem", "*.key", "*.p8", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk", "*.asc", "*.gpg",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", ".ssh", ".gnupg", ".aws", ".azure", ".gcloud", "gcloud", ".kube", "kubeconfig*", ".oci",
	".netrc", "_netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", ".pgpass", ".my.cnf", ".htpasswd", ".git-credentials", ".dockercfg", ".docker",
	"credentials", "credentials.*", "*credentials.json", "secrets", "secrets.*", "secret.*", "*.tfstate", "*.tfstate.backup", "terraform.tfstate*", "*.tfvars", ".vault-token", ".terraformrc",
	"service-account*.json", "service_account*.json", "serviceaccount*.json", "client_secret*.json", "rclone.conf", "*.ovpn", ".password-store", ".psql_history", ".mysql_history", ".bash_history", ".zsh_history", ".python_history", ".node_repl_history",
	"shadow", "gshadow", "sudoers", "wp-config.php", ".cargo-credentials", "auth.json", ".s3cfg", ".boto", "keyring*", "*.keychain", "*.keychain-db",
)

// exampleNames are names that look like secrets and are there to be read.
var exampleNames = names(".env.dist", "*.example", "*.sample", "*.template", "*.pub")

// protectedNames are names of files and folders that decide what runs later, in lower case, other
// than those in secretNames; changing them asks even where edits do not. What a program obeys when it
// starts, when a folder is entered or opened, on a commit, a push or a deployment is here. What a
// person builds and runs (Makefile, Dockerfile, build.gradle) is source. Instructions for agents
// (AGENTS.md) are not here: changing them is what people ask agents for, they are
// read as text, and a changed one shows in the diff.
var protectedNames = names(
	// Version control, its hooks, and what runs on a commit.
	".git", "git~1", ".gitmodules", ".gitconfig", ".gitattributes", ".githooks", ".git-hooks", ".hooks", ".lfsconfig", ".husky", ".huskyrc*", ".cargo-husky", "lefthook*.yml", "lefthook*.yaml", "lefthook*.toml", "lefthook*.json", "lefthook*.jsonc", ".lefthook*",
	".overcommit.yml", ".pre-commit-config.yaml", ".pre-commit-config.yml", ".pre-commit-hooks.yaml", "prek.toml", "hk.pkl", "hk.local.pkl", ".hk.pkl", "captainhook*.json", "grumphp*", ".grumphp*", "simple-git-hooks.*", ".simple-git-hooks.*", ".lintstagedrc*", "lint-staged.config.*",
	".rusty-hook.toml", ".commitlintrc*", "commitlint.config.*", ".gitlint", ".trunk", ".qlty", ".hg", ".hgrc", ".jj", ".sl", "_darcs", ".svn", ".bzr", ".pijul", ".repo", ".fossil-settings", ".arcconfig", ".reviewboardrc", ".lazygit.yml", ".gh-dash.yml", ".tigrc", ".dvc",
	// Agents.
	".pawl", ".mcp.json", "mcp.json", ".claude", ".claude.json", ".claude-plugin", ".cursor", ".codex", ".gemini", ".opencode", "opencode.json", "opencode.jsonc", ".aider*", ".windsurf", ".amazonq", ".kiro", ".roo", ".roomodes", ".crush", ".crush.json", "crush.json", ".continue", ".qwen", ".junie", ".trae", ".augment", ".goose",
	".amp", ".factory", ".clinerules", ".kilocode", ".kilocodemodes", ".agents", ".openhands", ".codebuddy", ".iflow", ".qoder", ".rovodev", ".tabnine", ".devin", ".warp", ".pi",
	// Continuous integration, and robots that merge and release.
	".github", "action.yml", "action.yaml", ".gitlab-ci*", ".gitlab", ".circleci", "circle.yml", ".travis.yml", ".travis", "jenkinsfile*", "*.jenkinsfile", ".jenkins", "azure-pipelines*.yml", "azure-pipelines*.yaml", ".azure-pipelines", ".azuredevops", ".azdo", ".ado", ".pipelines", ".vsts-ci.yml", ".drone.*", ".buildkite", "buildkite.yml", "buildkite.yaml",
	".woodpecker*", ".crow", ".crow.yml", ".crow.yaml", "bitbucket-pipelines.yml", ".ci", ".ci-operator.yaml", ".cirrus.yml", ".cirrus.star", ".gitea", ".forgejo", "appveyor.yml", ".appveyor.yml", ".appveyor", ".semaphore", ".builds", ".build.yml", ".teamcity", "buildspec*.yml", "buildspec*.yaml", "cloudbuild*.yaml", "cloudbuild*.yml", "cloudbuild*.json", ".cloudbuild",
	"codefresh.yml", ".codefresh", "wercker.yml", "codemagic.yaml", "codemagic.yml", "bitrise.yml", "bitrise.yaml", ".bitrise.yml", "screwdriver.yaml", ".vela.yml", ".vela.yaml", ".harness", ".taskcluster.yml", ".zuul.yaml", ".zuul.d", "zuul.yaml", "zuul.d", ".prow", ".prow.yaml", ".tekton", ".evergreen.yml", "evergreen.yml", "*.gocd.yaml", "*.gocd.yml", "*.gocd.json",
	"bamboo-specs", ".space.kts", ".onedev-buildspec.yml", ".agola", ".cnb.yml", ".coding-ci.yml", ".workflow", ".gitverse", ".sourcecraft", ".gitflic-ci.yaml", ".tangled", ".radicle", ".codecatalyst", ".buddy", "buddy.yml", ".octopus", ".eas", "eas.json", "ci_scripts", "appcenter-*.sh", ".scrutinizer.yml", ".shippable.yml", "shippable.yml", ".lgtm.yml",
	".packit.yml", ".packit.yaml", "packit.yaml", ".copr", ".cirun.yml", "garnix.yaml", "ci.nix", ".mega-linter.yml", ".megalinter.yml", ".reviewdog.yml", ".checkov.yml", ".checkov.yaml", ".mergify.yml", ".mergify", ".kodiak.toml", "bors.toml", ".bulldozer.yml", "renovate.json", "renovate.json5", ".renovaterc*",
	".goreleaser.*", "goreleaser.yml", "goreleaser.yaml", ".releaserc*", "release.config.*", ".release-it.*", ".versionrc*", ".bumpversion.*", ".readthedocs.yaml", ".readthedocs.yml", "atlantis.yaml", ".spacelift",
	// Deployment.
	".do", ".ddev", "netlify.toml", ".netlify", "vercel.json", "vercel.ts", ".vercel", "now.json", "render.yaml", "heroku.yml", "procfile", "procfile.dev", ".profile.d", ".buildpacks", "fly.toml", "fly.*.toml", "app.yaml", "app.yml", "railway.json", "railway.toml", "nixpacks.json", "nixpacks.toml", "railpack.json", "zeabur.json", "zbpack.json", "koyeb.yaml",
	"wrangler.toml", "wrangler.json", "wrangler.jsonc", "firebase.json", "apphosting.yaml", "serverless.yml", "serverless.yaml", "serverless.json", "serverless.ts", "samconfig.*", "amplify.yml", "apprunner.yaml", "appspec.yml", "appspec.yaml", ".ebextensions", ".elasticbeanstalk", ".platform", ".platform.app.yaml", ".upsun", ".magento", ".magento.app.yaml",
	"dockerrun.aws.json", "captain-definition", ".kamal", ".deployment", "azure.yaml", ".cpanel.yml", ".openshift", ".s2i", "scalingo.json", "porter.yaml", ".porter", "tsuru.yaml", "tsuru.yml", "convox.yml", ".bluemix", "cdk.json", "pulumi.yaml", "pulumi.*.yaml", ".htaccess", "ansible.cfg", ".ansible.cfg", ".user.ini", "php.ini",
	// Containers and environments for development, and what sets one up on entering a folder.
	".devcontainer", ".devcontainer.json", "devcontainer.json", ".gitpod.yml", ".gitpod.dockerfile", ".gitpod", ".ona", ".replit", "replit.nix", ".idx", ".codesandbox", "sandbox.config.json", ".stackblitzrc", "devfile.yaml", ".devfile.yaml", "devspace.yaml", ".okteto", "okteto.yml", "okteto.yaml", "devbox.json", ".lando*.yml", ".docksal", ".tugboat", "vagrantfile", "distrobox.ini",
	".direnv", ".direnvrc", ".autoenv*", ".shadowenv.d", ".smartcd", ".rvmrc", ".rbenv-vars", ".powrc", ".powenv", ".foreman", ".tool-versions", ".asdfrc", "mise*.toml", ".mise*.toml", ".mise", "mise", "mise-tasks", ".mise-tasks", ".rtx*.toml", ".rtx", ".vfox.toml", ".prototools", ".moon", ".sdkmanrc", ".pkgx.yaml", "pkgx.yaml", "aqua.yaml", ".aqua.yaml", "aqua.yml", ".aqua", "hermit.hcl",
	"flake.nix", "shell.nix", "default.nix", "devenv*.nix", "devenv*.yaml", ".devenv", ".flox", "guix.scm", "manifest.scm", ".config",
	// Shells, terminals and sessions.
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".bash_functions", ".bashrc.local", ".bashrc.d", ".profile", ".shrc", ".shinit", ".aliases", ".functions", ".exports", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".zshrc.local", ".zsh", ".zpreztorc", ".p10k.zsh", ".oh-my-zsh", ".kshrc", ".mkshrc", ".yashrc", ".cshrc", ".tcshrc", ".xonshrc", ".inputrc", "config.fish", "config.nu", "env.nu",
	"profile.ps1", "*_profile.ps1", ".login", ".logout", ".pam_environment", ".xinitrc", ".xserverrc", ".xprofile", ".xsession", ".xsessionrc", ".screenrc", ".tmux.conf", ".tmux.conf.local", ".tmuxinator.yml", ".tmuxinator", ".tmuxp.*", ".zellij", ".byobu", ".wezterm.lua", "*.desktop", "autorun.inf", "authorized_keys", "crontab", "launchagents", "autostart", ".forward", ".procmailrc", ".mailcap", ".lessfilter", ".lesskey", ".taskrc",
	// Editors, and the servers and debuggers that they start.
	".vscode", "*.code-workspace", ".idea", ".zed", ".fleet", ".theia", ".nova", ".lapce", ".vs", ".run", ".helix", ".obsidian", ".settings", ".externaltoolbuilders", "nbproject", "*.sublime-project", "*.sublime-build", ".atom", ".kateproject*", ".kakrc", ".nanorc", ".ctags", ".ctags.d", ".emacs", ".emacs.d", ".doom.d", ".spacemacs", ".dir-locals.el", ".dir-locals-2.el",
	".vim", ".vimrc", "_vimrc", ".gvimrc", "_gvimrc", ".vimrc.local", ".local.vimrc", ".localvimrc", ".vimrc.lua", ".vimlocal", ".lvimrc", ".exrc", "_exrc", ".exrc.lua", ".nvim", ".nvimrc", ".nvim.lua", ".lvim", ".lazy.lua", ".neoconf.json", ".ideavimrc", ".vsvimrc", "coc-settings.json", ".ycm_extra_conf.py", ".vimspector.json",
	"omnisharp.json", "launchsettings.json", "*.csproj.user", "*.vcxproj.user", ".bsp", ".bloop", ".factorypath", "hie.yaml", ".hie-bios", ".merlin", "rust-analyzer.toml", ".rust-analyzer.toml", ".luarc.json", ".luarc.jsonc", ".solargraph.yml", ".gdbinit", ".gdbearlyinit", "*-gdb.py", "*-gdb.gdb", "*-gdb.scm", ".lldbinit", ".radare2rc", ".rizinrc", ".pdbrc", ".pdbrc.py", ".valgrindrc",
	// Package managers, build tools and interpreters: what they read by themselves, not what is built.
	"package.json", ".npm-init.js", ".yarn", ".pnp.*", ".pnpmfile.cjs", ".pnpmfile.mjs", "bunfig.toml", ".bunfig.toml", ".mocharc.*", ".nycrc*", ".taprc", ".cargo", "rust-toolchain", "rust-toolchain.toml", ".swiftpm", "nuget.config", "dotnet-tools.json", "directory.build.rsp", "msbuild.rsp",
	".gradle", "gradle-wrapper.properties", ".mvn", ".mavenrc", ".sbtopts", ".sbtrc", ".jvmopts", ".mill-*", "profiles.clj", ".lein-env", "*.bazelrc", ".bazelversion", ".bazeliskrc", ".buckconfig*", ".plzconfig*", ".pants.rc", ".taskrc.yml", ".watchmanconfig",
	".bundle", ".gemrc", ".rspec", ".rspec-local", ".railsrc", ".autotest", ".simplecov", ".yardopts", ".rubocop.yml", ".irbrc", ".pryrc", ".rdbgrc", ".byebugrc", "sitecustomize.py", "usercustomize.py", ".pythonrc*", ".pystartup", "pyvenv.cfg", ".pydistutils.cfg", ".condarc", "pip.conf", "pip.ini", ".pylintrc", ".flake8", ".coveragerc", ".ipython", "ipython_config.py", ".jupyter",
	".rprofile", ".renviron", "rprofile.site", "renviron.site", "startup.jl", "startup.m", ".octaverc", ".perldb", ".proverc", ".re.pl", ".psysh.php", ".php-cs-fixer*", ".luacheckrc", ".busted", ".ghci", ".ocamlinit", ".iex.exs", ".formatter.exs", ".credo.exs", ".erlang", ".psqlrc", ".sqliterc", ".duckdbrc", ".mongorc.js", ".curlrc", ".wgetrc", ".ackrc", ".ripgreprc", ".tflint.hcl",
	// Configuration that is a program: run by editors and tools as soon as a file is opened, saved or committed.
	".envrc.*", ".xcode.env*", ".eslintrc*", ".prettierrc*", ".stylelintrc*", ".cspell.js", ".cspell.cjs", "cspell.config.*", ".markdownlint*.cjs", ".markdownlint*.mjs", ".graphqlrc*", "graphql.config.*", ".remarkrc*", ".textlintrc*", ".lintr", ".lsp", ".ropeproject",
	".lite_project.lua", ".phan", ".phpactor*", "phpstan*.neon", "psalm.xml", ".pyre_configuration*", "pylintrc*", ".pylintrc.toml", ".mypy.ini", ".standard.yml", ".erb_linters", ".haml-lint.yml", ".ruby-lsp", ".nlsp-settings", ".nfnl.fnl", ".tm_properties", ".sourcekit-lsp", "erlang_ls.config", "nx.json", "*.run.xml", "*.ipr", "*.launch", ".project", ".wallaby.js", ".czrc", ".scalafix.conf",
	".pnpmfile.js", "pnpm-workspace.yaml", "composer.json", "binding.gyp", "directory.build.props", "directory.build.targets", "jupyter_*config.py", "neoconf.json", "_irbrc", "irb.rc", ".rdata", "*.pth", ".jdbrc", "jdb.ini", ".ghcid", ".luacov", ".luarocks", "config.nims", "wp-cli.yml", ".air.toml", "bacon.toml", "nodemon.json", "modd.conf", "mprocs.yaml", ".smug.yml", ".teamocil.yml", "session.vim", "devshell.toml",
	".agent", ".cline", ".continuerc.json", ".grok", ".vibe", ".kimi", ".kode", ".forge", "forge.yaml", ".cagent", "cagent.yaml", "gptme.toml", "conductor.json", ".superset", ".emdash.json", ".antigravity", ".mcp", "mcp.yaml", "pantheon.yml", "acquia-pipelines.yml", ".lagoon.yml", "app.json", "project.toml", "clevercloud", "web.config", ".onedev", "desktop.ini", "*.scf", "*.url", "*.command", "*.terminal",
)

// programFolders are folders of programs and modules that package managers install and others run by their
// names. Writing a file there needs approval, as for protectedNames. Installing and removing are done by
// commands, which have rules of their own, so words of commands are not matched against these.
var programFolders = strings.Fields(`node_modules/.bin .venv/bin venv/bin env/bin virtualenv/bin .venv/scripts venv/scripts env/scripts
	site-packages dist-packages .tox .nox .pixi vendor/bin .local/bin`)

// programFolder returns the name of such a folder in a path; empty if there is none.
func programFolder(p string) string {
	folded := "/" + foldPath(p) + "/"
	for _, folder := range programFolders {
		if strings.Contains(folded, "/"+folder+"/") {
			return path.Base(folder)
		}
	}
	return ""
}
