package class

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"
)

// ecosystem is what the files of a language's projects are called. The patterns are those of a
// [Rule]; without a slash they match the names of files only. Names in braces stand for
// each of them. To teach Pawl a convention, add a line.
type ecosystem struct {
	name         string
	sources      []string // extensions of source files
	tests        []string // tests, wherever they are
	below        []string // tests, when they are below a folder of tests
	setUp        []string // what runs before tests
	fixtures     []string // what tests read, also where a test or a configuration has the same name
	support      []string // what else tests need
	gateInputs   []string // configuration of what gates run
	dependencies []string // manifests and lock files
	vendored     []string // copies of other projects, and what says where they are from
}

var ecosystems = []ecosystem{
	{
		name:    "Go",
		sources: []string{".go"},
		tests: []string{
			"*_test.go",
		},
		fixtures: []string{
			"testdata/",
		},
		support: []string{
			"**/{testutil,testutils,testhelper,testhelpers,testsupport}/**/*.go",
		},
		gateInputs: []string{
			".golangci.{yml,yaml,toml,json}",
			".testcoverage.{yml,yaml}",
			".gremlins.{yml,yaml}",
			"revive.toml",
			"staticcheck.conf",
		},
		dependencies: []string{
			"go.mod",
			"go.sum",
			"go.work",
			"go.work.sum",
		},
		vendored: []string{
			"Godeps/",
		},
	},
	{
		name:    "JavaScript and TypeScript",
		sources: []string{".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".vue", ".svelte"},
		tests: []string{
			"*.{test,spec,cy,e2e,e2e-spec,e2e-test,unit,integration}.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
			"*{-test,_test,-spec,_spec}.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
			"*.test-d.{ts,cts,mts,tsx}",
			"test-*.{js,cjs,mjs,ts,cts,mts}", // node --test
			"test.{js,cjs,mjs,ts,cts,mts}",
			"*Spec.{js,mjs}", // jasmine
			"**/spec/**/*spec.{js,mjs}",
			"**/__tests__/**/*.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
			"**/cypress/{e2e,integration,component}/**/*.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
		},
		below: []string{
			"**/test/**/*.{js,cjs,mjs,jsx,ts,cts,mts,tsx}", // node --test, mocha
			"**/e2e/**/*.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
		},
		setUp: []string{
			"setupTests.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
			"{setup-jest,jest-setup,jest.setup,setup.jest,jestSetup,setupJest}.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
			"{jest.setup-after-env,setupAfterEnv,jest.env,jest-environment}.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
			"{vitest-setup,vitest.setup,setup-vitest,setupVitest,setup.vitest}.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
			"{test-setup,testSetup,setup-tests,setup-test,setupTest,test.setup,tests.setup}.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
			"{globalSetup,global-setup,globalTeardown,global-teardown}.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
			"**/{test,tests,__tests__,e2e,spec}/{setup,teardown,init,bootstrap}.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
			"**/{test,tests,__tests__,e2e,spec}/setup/*.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
			"**/spec/helpers/**/*.{js,cjs,mjs,ts}", // jasmine
			"**/cypress/support/**",
			"**/src/test.ts", // karma in Angular
		},
		fixtures: []string{
			"__snapshots__/",
			"__image_snapshots__/",
			"__fixtures__/",
			"*.snap",
		},
		support: []string{
			"__mocks__/",
			"*-snapshots/", // playwright
			"{test-utils,test_utils,testUtils,test-helpers,testHelpers,test-helper,testHelper}.{js,cjs,mjs,jsx,ts,cts,mts,tsx}",
			"{test-utils,test-helpers}/",
			".env.test",
		},
		gateInputs: []string{
			"jest.config.{js,cjs,mjs,ts,cts,mts,json}",
			"jest.preset.{js,cjs}",
			"jest.*.config.{js,cjs,mjs,ts,json}",
			"jest-*.json", // NestJS: test/jest-e2e.json
			"{vitest,vite}.config.{js,cjs,mjs,ts,cts,mts}",
			"vitest.*.{js,cjs,mjs,ts,cts,mts}",
			"vitest.workspace.json",
			".mocharc.{js,cjs,mjs,json,jsonc,yml,yaml}",
			".mocharc",
			"mocha.opts",
			"jasmine.{json,js,mjs}",
			"karma.conf.{js,cjs,ts}",
			"ava.config.{js,cjs,mjs}",
			".taprc",
			"{.c8rc,.nycrc}",
			"{.c8rc,.nycrc}.{json,yml,yaml}",
			"nyc.config.{js,cjs,mjs}",
			"playwright.config.{js,cjs,mjs,ts,cts,mts}",
			"playwright-ct.config.{js,ts}",
			"cypress.config.{js,cjs,mjs,ts}",
			"cypress.json",
			"wdio.conf.{js,ts}",
			"nightwatch.conf.{js,cjs,ts}",
			"web-test-runner.config.{js,cjs,mjs}",
			"stryker.{conf,config}.{js,cjs,mjs,json}",
			"bunfig.toml",
			"deno.{json,jsonc}",
			"tsconfig.json",
			"tsconfig.*.json",
			"tsconfig-*.json",
			"jsconfig.json",
			"eslint.config.{js,cjs,mjs,ts,cts,mts}",
			".eslintrc",
			".eslintrc.{js,cjs,json,jsonc,yml,yaml}",
			".eslintignore",
			"{.prettierrc,.stylelintrc,.babelrc,.swcrc,.jshintrc,.jscsrc,.xo-config,.oxlintrc}",
			"{.prettierrc,.stylelintrc,.babelrc,.xo-config,.oxlintrc}.{js,cjs,mjs,ts,json,json5,yml,yaml,toml}",
			"{prettier,stylelint,babel,xo}.config.{js,cjs,mjs,ts,json}",
			"{.prettierignore,.stylelintignore,.jshintignore}",
			"{biome,rome}.{json,jsonc}",
			"{tslint,knip,.dependency-cruiser,.size-limit}.json",
			".dependency-cruiser.{js,cjs,mjs}",
			"{turbo,nx,lerna,project}.json",
			"patches/*+*.patch", // patch-package: they change what is installed
			"angular.json",
		},
		dependencies: []string{
			"package.json",
			"{package-lock,npm-shrinkwrap}.json",
			"{yarn,bun,deno}.lock",
			"bun.lockb",
			"pnpm-lock.{yaml,yml}",
			"pnpm-workspace.{yaml,yml}",
			"{.nvmrc,.node-version}",
			"rush.json",
		},
		vendored: []string{
			"node_modules/",
			"bower_components/",
			"jspm_packages/",
			"**/.yarn/{releases,plugins,cache,sdks,patches,unplugged}/**",
			".pnp.{cjs,js}",
			".pnp.loader.mjs",
		},
	},
	{
		name:    "Python",
		sources: []string{".py", ".pyi", ".pyx", ".ipynb"},
		tests: []string{
			"test_*.py",
			"*_test.py",
			"tests.py", // Django
			"*.feature",
			"*.robot",
		},
		below: []string{
			"test*.py", // unittest
		},
		setUp: []string{
			"conftest.py",
			"**/features/environment.py", // behave
		},
		support: []string{
			"*.ambr", // syrupy
			"**/features/steps/**",
			"{test_data,test-data,testfixtures,test_fixtures,test-fixtures}/",
			"**/{test_utils,test_helpers,testing_utils}.py",
			"*.cassette",
			"{cassettes,vcr_cassettes}/",
		},
		gateInputs: []string{
			"{pytest,.pytest}.ini",
			"{pytest,.pytest}.toml",
			"tox.{ini,toml}",
			"noxfile.py",
			".coveragerc",
			"{mypy,.mypy}.ini",
			"{ruff,.ruff,ty}.toml",
			"{.flake8,.pylintrc,pylintrc,.isort.cfg,.bandit,.style.yapf,.pydocstyle,.pycodestyle}",
			"pylintrc.toml",
			"pyrightconfig.json",
			"basedpyrightconfig.json",
			"{behave,.behave}.ini",
			"behaverc",
			"unittest.cfg",
			"nose2.cfg",
			"hatch.toml",
			"setup.py", // prepare runs it
			"{sitecustomize,usercustomize}.py",
			"*.pth",
			"{*.egg-info,*.dist-info}/", // plugins are found there
		},
		dependencies: []string{
			"pyproject.toml",
			"setup.cfg",
			"{requirements,constraints}*.{txt,in}",
			"*{requirements,constraints}.{txt,in}",
			"**/requirements/*.{txt,in}",
			"Pipfile",
			"Pipfile.lock",
			"{poetry,uv,pdm,pixi}.lock",
			"pylock.toml",
			"pylock.*.toml",
			"{uv,poetry,pixi}.toml",
			"environment.{yml,yaml}",
			"conda-lock.{yml,yaml}",
			".python-version",
		},
		vendored: []string{
			"_vendor/",
			"_vendored/",
			"site-packages/",
		},
	},
	{
		name:    "Rust",
		sources: []string{".rs"},
		tests: []string{
			"**/tests/*.rs",
			"**/tests/*/main.rs",
			"**/src/**/tests.rs", // #[cfg(test)] mod tests;
			"**/src/**/{test,test_*,tests_*,*_test,*_tests}.rs",
		},
		fixtures: []string{
			"*.snap",
			"*.snap.new",
		},
		support: []string{
			"proptest-regressions/",
			"*.proptest-regressions",
		},
		gateInputs: []string{
			"build.rs", // prepare runs it
			"**/.cargo/mutants.toml",
			"**/.config/nextest.toml",
			"{clippy,.clippy,rustfmt,.rustfmt}.toml",
			"{deny,tarpaulin,.tarpaulin,Cross}.toml",
			"{insta,.insta}.{yml,yaml}",
		},
		dependencies: []string{
			"Cargo.toml",
			"Cargo.lock",
			"**/.cargo/config",
			"**/.cargo/config.toml",
			"rust-toolchain",
			"rust-toolchain.toml",
		},
		vendored: []string{
			".cargo-checksum.json",
		},
	},
	{
		name:    "Java and Kotlin",
		sources: []string{".java", ".kt", ".kts", ".groovy", ".scala"},
		tests: []string{
			"{Test*,*Test,*Tests,*TestCase}.java", // surefire
			"{IT*,*IT,*ITCase}.java",              // failsafe
			"{*Test,*Tests,*TestCase,*Spec,*IT}.{kt,groovy,scala}",
			"*Suite.scala",
		},
		setUp: []string{
			"**/META-INF/services/org.junit.*",
			"**/META-INF/services/org.testng.*",
			"{AbstractProjectConfig,ProjectConfig}.kt", // kotest
			"SpockConfig.groovy",
		},
		support: []string{
			"*.approved.*", // ApprovalTests
		},
		gateInputs: []string{
			"junit-platform.properties",
			"testng*.xml",
			"kotest.properties",
			"{checkstyle,pmd,spotbugs,findbugs}*.xml",
			"{detekt,.detekt}.{yml,yaml}",
			"detekt-*.{yml,yaml}",
			"lint.xml",
			"build.{gradle,gradle.kts,xml}", // not split: they are programs
			"*.gradle",
			"**/buildSrc/**",
			"gradle.properties",
			"{gradlew,mvnw}",
			"{gradlew,mvnw}.{bat,cmd}",
			"**/.mvn/**",
		},
		dependencies: []string{
			"pom.xml",
			"settings.{gradle,gradle.kts}",
			"*.versions.toml",
			"gradle.lockfile",
			"**/gradle/dependency-locks/**",
			"**/gradle/verification-metadata.xml",
			"gradle-wrapper.properties",
			".sdkmanrc",
			".java-version",
			"build.sbt",
		},
		vendored: []string{
			"*.jar",
		},
	},
	{
		name:    "Ruby",
		sources: []string{".rb", ".rake", ".ru"},
		tests: []string{
			"*_spec.rb",
			"*_test.rb",
			"test_*.rb",
		},
		setUp: []string{
			"{spec_helper,rails_helper,test_helper,minitest_helper,system_helper}.rb",
			"**/features/support/**/*.rb",
			".simplecov",
		},
		support: []string{
			"**/features/step_definitions/**",
		},
		gateInputs: []string{
			"{.rspec,.rspec-local}",
			"Rakefile",
			"*.rake",
			"{.rubocop,.rubocop_todo,.rubocop-*,.standard,.reek,.erb-lint,.haml-lint,cucumber}.yml",
			"Guardfile",
			"Steepfile",
			"{.mutant,mutant}.yml",
			"**/sorbet/config",
		},
		dependencies: []string{
			"{Gemfile,gems.rb}",
			"{Gemfile,gems,*.gemfile}.{lock,locked}",
			"*.gemfile",
			"*.gemspec",
			"Appraisals",
			".ruby-version",
		},
	},
	{
		name:    "PHP",
		sources: []string{".php", ".phtml"},
		tests: []string{
			"*.phpt",
		},
		below: []string{
			"{*Test,*TestCase,*Spec,*Cest,*Cept}.php",
			"**/[tT]ests/{Unit,Feature}/**/*.php", // pest
		},
		setUp: []string{
			"**/[tT]ests/{bootstrap,Pest,_bootstrap}.php",
		},
		gateInputs: []string{
			"{phpunit,phpunit.dist,phpcs,.phpcs,phpcs.dist,psalm,phpmd,paratest}.xml",
			"{phpunit,phpcs,.phpcs,psalm}.xml.dist",
			"{phpstan,phpstan.dist,phpstan-baseline}.neon",
			"phpstan.neon.dist",
			"phpstan-baseline.php",
			"psalm-baseline.xml",
			"{.php-cs-fixer,.php_cs,.php-cs-fixer.dist,.php_cs.dist}.php",
			"{.php_cs,.php_cs.dist}",
			"{codeception,behat,codeception.dist,behat.dist,phpspec,grumphp}.{yml,yaml}",
			"*.suite.{yml,yaml}", // codeception
			"{infection,infection.dist,pint}.{json,json5}",
			"{rector,ecs,deptrac}.{php,yaml}",
		},
		dependencies: []string{
			"composer.json",
			"composer.lock",
			"symfony.lock",
			".php-version",
		},
	},
	{
		name:    "C#",
		sources: []string{".cs", ".fs", ".vb", ".razor"},
		tests: []string{
			"*Tests.{cs,fs,vb}",
		},
		below: []string{
			"{*Test,*Spec,*Specs,*Facts}.{cs,fs,vb}",
		},
		fixtures: []string{
			"*.verified.*", // Verify
		},
		gateInputs: []string{
			"*.runsettings",
			"*.testsettings",
			"xunit.runner.json",
			"*.xunit.runner.json",
			"testconfig.json",
			"*.testconfig.json",
			"{.globalconfig,stylecop.json}",
			"*.ruleset",
			"{stryker-config,coverlet.runsettings}.json",
			"Directory.Build.targets",
			"Directory.Build.rsp",
		},
		dependencies: []string{
			"*.{csproj,fsproj,vbproj}",
			"Directory.Build.props",
			"Directory.Packages.props",
			"packages.lock.json",
			"packages.config",
			"{nuget,NuGet,Nuget}.{config,Config}",
			"paket.{dependencies,lock,references}",
			"global.json",
			"dotnet-tools.json",
			"*.{sln,slnx,slnf}",
		},
	},
	{
		name:    "make and shell",
		sources: []string{".sh", ".bash", ".zsh", ".ksh", ".fish", ".ps1", ".pl"},
		tests: []string{
			"*.bats",
			"{test_*,*_test,*.test,*_spec}.{sh,bash,zsh,ksh}",
			"*.Tests.ps1",
			"**/t/*.t",
			"{tests,test}/*.t",
		},
		setUp: []string{
			"setup_suite.bash",
			"test_helper.{bash,sh}",
			"**/test_helper/**/*.bash",
			"spec_helper.sh",
		},
		gateInputs: []string{
			"{.shellcheckrc,.shellspec,.proverc,.bashcov}",
			"PSScriptAnalyzerSettings.psd1",
		},
	},
	{
		name:    "others",
		sources: []string{".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".m", ".swift", ".dart", ".ex", ".exs", ".erl", ".hs", ".ml", ".clj", ".lua", ".zig", ".sql"},
		tests: []string{
			"*_test.{exs,dart,c,cc,cpp,cxx,lua,zig,clj}",
			"*_unittest.{cc,cpp}",
			"test_*.{c,cc,cpp,lua}",
			"*Tests.swift",
		},
		setUp: []string{
			"test_helper.exs",
		},
		gateInputs: []string{
			".editorconfig", // formatters and analyzers read it
			".gitignore",    // so do linters, to pass over files
			".ignore",
			"{codecov,.codecov,sonar-project}.{yml,yaml,properties}",
			"{.yamllint,.hadolint.yaml,.markdownlint.json,.typos.toml,_typos.toml,.cspell.json,cspell.json}",
			"{.yamllint,.markdownlint,.markdownlint-cli2,.codespellrc,.semgrep}.{yml,yaml,jsonc}",
			"{.codespellrc,.markdownlintrc,.semgrepignore,.gitleaksignore}",
			".gitleaks.toml",
			"{.clang-format,.clang-tidy,.credo.exs,.formatter.exs,.luacheckrc,.swiftlint.yml}",
			"analysis_options.yaml",
		},
		dependencies: []string{
			".gitmodules", // which commit of another project is where
			".tool-versions",
			"mix.{exs,lock}",
			"pubspec.{yaml,lock}",
			"Package.{swift,resolved}",
		},
		vendored: []string{
			"{third_party,third-party,thirdparty,3rdparty}/",
		},
	},
}

// rootPolicy are files that act elsewhere than in the gates, where those who read them look at the root
// only: services that build, review and merge, and what Pawl itself reads.
var rootPolicy = []string{
	"/.pawl/",
	"/.github/",
	"/.gitlab/",
	"/.gitlab-ci.{yml,yaml}",
	"/.circleci/",
	"/.travis.{yml,yaml}",
	"/.buildkite/",
	"/.drone.{yml,yaml,jsonnet,star}",
	"/.woodpecker/",
	"/.woodpecker.{yml,yaml}",
	"/.forgejo/",
	"/.gitea/",
	"/.semaphore/",
	"/.teamcity/",
	"/.tekton/",
	"/.builds/",
	"/.build.yml",
	"/.cirrus.{yml,star}",
	"/{appveyor,.appveyor}.{yml,yaml}",
	"/{azure-pipelines,bitbucket-pipelines,cloudbuild,buildspec,wercker,codeship-steps}.{yml,yaml}",
	"/azure-pipelines-*.{yml,yaml}",
	"/{.azure-pipelines,.azuredevops,.pipelines}/",
	"/Jenkinsfile",
	"/Jenkinsfile.*",
	"/CODEOWNERS",
	"/docs/CODEOWNERS",
	"/{.mergify,.kodiak,.bulldozer,.policy}.{yml,yaml,toml}",
	"/{renovate.json,renovate.json5,.renovaterc,.renovaterc.json,.renovaterc.json5}",
	"/{.bazelci,.kokoro,.zuul.d}/",
}

// agents are files that a coding agent takes from the repository that it works on: as its instructions, settings,
// plugins, skills, hooks or servers. They are policy, too.
var agents = []string{
	"{AGENTS,AGENT,CLAUDE,CLAUDE.local,GEMINI,QWEN,CRUSH,WARP}.md",
	"{AGENTS.override,.hermes,HERMES}.md",
	".rules",
	"{.agents,.agent,.crush,.trae}/",
	".claude/",
	".cursor/",
	"{.cursorrules,.cursorignore,.windsurfrules,.clinerules,.roorules,.goosehints}",
	"{.windsurf,.clinerules,.roo,.codex,.gemini,.continue,.opencode,.kiro,.amazonq,.augment,.junie,.qwen}/",
	".aider.conf.{yml,yaml}",
	".roomodes",
	"{.kilocode,.factory,.openhands,.idx}/",
	"{.mcp,opencode,crush,.crush}.json",
	"opencode.jsonc",
	"/.github/{copilot-instructions.md,copilot-setup-steps.yml,mcp.json}",
	"/.github/{instructions,prompts,agents,skills,chatmodes,hooks}/",
	"**/.vscode/mcp.json",
}

// policy are files that act elsewhere than in the gates: on the machine of whoever opens the folder that they are
// in, installs, builds an image or logs in, or in the next session of an agent, which reads AGENTS.md and its
// like as words of the project.
var policy = []string{
	"{.npmrc,.yarnrc}",
	".yarnrc.{yml,yaml}",
	".pnpmfile.{cjs,mjs}",
	"{pip.conf,pip.ini,.pypirc,.condarc,.gemrc,.terraformrc,terraform.rc,Brewfile}",
	"**/.bundle/config",
	"**/.mvn/{jvm.config,extensions.xml}",
	"init.{gradle,gradle.kts}", // runs in every build of who copies it
	"**/init.d/*",
	"{.sbtopts,.jvmopts}",
	"**/.cargo/{credentials,credentials.toml}",
	"{.env,.env.local,.env.development,.env.production,.env.staging,.env.dev,.env.prod}",
	".env.*.local",
	"{.m2,.gem,.ssh,.gnupg,.docker,.kube,.aws,.azure}/",
	"{.bazelrc,.buckconfig,.earthly}",
	"*.bazelrc",
	"{Dockerfile,Containerfile,Vagrantfile,Procfile}",
	"{Dockerfile,Containerfile}.*",
	"*.{Dockerfile,dockerfile,Containerfile}",
	"{compose,docker-compose}.{yml,yaml}",
	"{compose,docker-compose}.*.{yml,yaml}",
	"docker-bake.{hcl,json}",
	"{netlify,fly,wrangler}.toml",
	"{vercel,railway,now}.json",
	"{render,serverless,skaffold}.{yml,yaml}",
	"Tiltfile",
	"{ansible.cfg,.ansible.cfg}",
	"{shell,devenv,replit}.nix",
	".replit",
	"{.bashrc,.bash_profile,.bash_login,.bash_logout,.bash_aliases,.profile,.kshrc,.cshrc,.tcshrc,.login,.inputrc,.screenrc,.tmux.conf}",
	"{.zshrc,.zshenv,.zprofile,.zlogin,.zlogout}",
	"**/fish/{config.fish,conf.d/*,functions/*}",
	"{.Rprofile,.Renviron,.irbrc,.pryrc,.pdbrc,.psqlrc,.sqliterc,.my.cnf,.ghci,.curlrc,.wgetrc,.hgrc}",
	"**/.config/{git,systemd,autostart,nvim}/**",
	"*.{service,timer}", // systemd
	"**/{systemd,LaunchAgents,LaunchDaemons,cron.d,cron.daily,cron.hourly,profile.d,sudoers.d}/*",
	"{authorized_keys,authorized_keys2,known_hosts,ssh_config,sshd_config}",
	"{crontab,.crontab}",
	".husky/",
	"{.githooks,.git-hooks,.hooks,githooks}/",
	"{lefthook,.lefthook,lefthook-local}.{yml,yaml,toml,json}",
	".pre-commit-config.{yml,yaml}",
	".overcommit.yml",
	"{.lintstagedrc,.huskyrc}",
	"{.lintstagedrc,.huskyrc,lint-staged.config}.{js,cjs,mjs,ts,json,yml,yaml}",
	"{.envrc,.autoenv,.autoenv.zsh,.in}",
	"{mise,.mise}.{toml,local.toml}",
	"**/.mise/**",
	"**/.vscode/{tasks,launch,settings,mcp,extensions}.json",
	"*.code-workspace",
	"*.{sublime-project,sublime-workspace}",
	"**/.idea/{runConfigurations,externalDependencies.xml,watcherTasks.xml,workspace.xml,tools}/**",
	"**/.run/*.run.xml",
	"**/.zed/{tasks,settings,debug}.json",
	"**/.fleet/{run,settings}.json",
	".devcontainer/",
	".devcontainer.json",
	"{.gitpod.yml,.gitpod.Dockerfile}",
	"{.exrc,.vimrc,.nvimrc,.nvim.lua,.lvimrc,.emacs,.dir-locals.el,.dir-locals-2.el,.netrc,.gdbinit,.lldbinit}",
	".emacs.d/",
	"{.gitconfig,.lfsconfig}",
	".gitattributes", // hides changes from who reviews (-diff, linguist-generated), and rewrites files on checkout
}

// testFolders hold tests and what they need. test and spec, which may hold code as well, are in
// [splitPath.testFolder].
var testFolders = []string{
	"tests/",
	"__tests__/",
	"__test__/",
	"e2e/",
	"cypress/",
	"*_tests/",
	"*-tests/",
	"*.tests/", // C#
	"*.test/",
	"*.{unittests,integrationtests,functionaltests,acceptancetests,specs}/",
	"{unittests,unittest,integrationtests,functionaltests,acceptancetests}/",
	"{unit,integration,functional,acceptance,system,smoke,regression,e2e,api,contract}-test/",
	"{unit,integration,functional,acceptance,system,smoke,regression,e2e,api,contract}_test/",
	"{test,tests}_{unit,integration,functional,e2e}/",
}

// fixtureFolders hold what tests read: all that is there where they are below a folder of
// tests, else what is no source file. A folder fixtures of an app about sports or lamps holds
// its code.
var fixtureFolders = []string{
	"fixtures",
	"fixture",
	"golden",
	"goldens",
	"goldenfiles",
	"cassettes",
}

// helperFolders hold what tests need where they are below a folder of tests.
var helperFolders = []string{
	"expected",
	"factories",
	"helper",
	"helpers",
	"mocks",
	"resources",
	"snapshots",
	"stubs",
	"support",
	"testfiles",
	"ui", // trybuild
	"util",
	"utils",
}

// productFolders hold what a project builds.
var productFolders = []string{
	"src",
	"lib",
	"app",
	"apps",
	"cmd",
	"internal",
	"pkg",
}

// toolFolders hold scripts: what one of them imports from its own folder is one too.
var toolFolders = []string{
	"scripts",
	"script",
	"ci",
	".ci",
	"tools",
	"tool",
	"hack",
	"build",
	"bin",
	"dev",
	"etc",
	".github",
	"test",
	"tests",
}

// commandFolders have a folder for each command of a program, one of which may be test.
var commandFolders = []string{
	"cli",
	"cmd",
	"cmds",
	"command",
	"commands",
	"subcommands",
}

// specSources are the extensions of tests in folders named spec. What else is there may
// describe an API.
var specSources = []string{".rb", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".php", ".sh", ".lua"}

// docs are documents. Elsewhere than in [productFolders], where programs embed them, all files
// with [docExtensions] are.
var docs = []string{
	"{README,CHANGELOG,CHANGES,HISTORY,NEWS,AUTHORS,CONTRIBUTORS,CONTRIBUTING,MAINTAINERS,NOTICE,TODO,SECURITY,SUPPORT,CODE_OF_CONDUCT,ARCHITECTURE}",
	"{README,CHANGELOG,CHANGES,HISTORY,NEWS,AUTHORS,CONTRIBUTORS,CONTRIBUTING,MAINTAINERS,NOTICE,TODO,SECURITY,SUPPORT,CODE_OF_CONDUCT,ARCHITECTURE}.*",
	"{readme,changelog,Readme,Changelog}.*",
	"{LICENSE,LICENCE,COPYING,UNLICENSE}",
	"{LICENSE,LICENCE,COPYING}{.,-}*",
	"llms.txt",
	"llms-full.txt",
}

var docExtensions = []string{".md", ".mdx", ".markdown", ".rst", ".adoc", ".asciidoc", ".org"}

// docAssets are what else is documentation below a folder doc or docs.
var docAssets = []string{".txt", ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".pdf", ".mmd", ".puml", ".dot", ".drawio", ".tex"}

// tables are the tables in a form that is fast to search.
type tables struct {
	rootPolicy, policy, agents, vendored, fixtures, setUp, strict, below, support, gateInputs, dependencies, docs, testFolders *patterns

	sources map[string]bool
}

var compiled = sync.OnceValue(func() *tables {
	t := &tables{
		rootPolicy: compile(rootPolicy), policy: compile(policy, agents), agents: compile(agents), docs: compile(docs), testFolders: compile(testFolders),
		vendored: compile(), fixtures: compile(), setUp: compile(), strict: compile(), below: compile(), support: compile(), gateInputs: compile(), dependencies: compile(),
		sources: map[string]bool{},
	}
	for _, e := range ecosystems {
		t.vendored.add(e.vendored)
		t.fixtures.add(e.fixtures)
		t.setUp.add(e.setUp)
		t.strict.add(e.tests)
		t.below.add(e.below)
		t.support.add(e.support)
		t.gateInputs.add(e.gateInputs)
		t.dependencies.add(e.dependencies)
		for _, ext := range e.sources {
			t.sources[ext] = true
		}
	}
	return t
})

func (t *tables) isSource(p splitPath) bool { return t.sources[p.ext] }

// isTest reports whether a path is a test by its name, or by its name in a folder of tests.
func (t *tables) isTest(p splitPath, tested int, inTests bool) bool {
	for i := range p.lower {
		if p.has(i, "src") && p.has(i+1, "main") && t.isSource(p) {
			return false // Maven and Gradle: src/main is never a test
		}
	}
	if stem, _, _ := strings.Cut(p.base, "."); stem == "test" && len(p.lower) > 0 && slices.Contains(commandFolders, p.lower[len(p.lower)-1]) {
		return false // the command test of a program
	}
	return !t.support.matchesName(p.base) && t.strict.matches(p) || inTests && !p.below(tested, helperFolders) && t.below.matches(p)
}

func (t *tables) isDocs(p splitPath) bool {
	switch inDocs := p.inDocs(); {
	case t.docs.matches(p) && !t.isSource(p):
		return true
	case slices.Contains(docExtensions, p.ext):
		return inDocs || !p.inProduct()
	default:
		return inDocs && slices.Contains(docAssets, p.ext)
	}
}

// patterns is a set of patterns.
type patterns struct {
	names         map[string]bool // of files
	affixes       []affix         // of files
	folders       map[string]bool // at any depth, in lower case
	folderAffixes []affix
	globs         []glob // of paths
}

// glob is a pattern with what can be looked at quickly.
type glob struct {
	pattern  string
	folder   string // one that the path must have above it; empty when it is not plain
	anchored bool   // the folder is the first one
	ext      string // how the name must end; empty when it is not plain
}

// affix is a pattern with one star.
type affix struct{ before, after string }

func (a affix) matches(name string) bool {
	return len(name) >= len(a.before)+len(a.after) && strings.HasPrefix(name, a.before) && strings.HasSuffix(name, a.after)
}

func compile(lists ...[]string) *patterns {
	s := &patterns{names: map[string]bool{}, folders: map[string]bool{}}
	for _, l := range lists {
		s.add(l)
	}
	return s
}

func (s *patterns) add(list []string) {
	for _, braced := range list {
		for _, p := range braces(braced) {
			s.addOne(p)
		}
	}
}

func (s *patterns) addOne(p string) {
	name, isFolder := strings.CutSuffix(p, "/")
	before, after, star := strings.Cut(name, "*")
	plain := !strings.ContainsAny(before+after, `*?[\`)
	switch {
	case strings.Contains(name, "/"):
		name = strings.TrimPrefix(name, "/")
		if isFolder {
			name += "/**/*"
		}
		s.globs = append(s.globs, newGlob(name))
	case isFolder && star:
		s.folderAffixes = append(s.folderAffixes, affix{strings.ToLower(before), strings.ToLower(after)})
	case isFolder:
		s.folders[strings.ToLower(name)] = true
	case !plain:
		s.globs = append(s.globs, newGlob("**/"+name))
	case star:
		s.affixes = append(s.affixes, affix{before, after})
	default:
		s.names[name] = true
	}
}

// matchesName reports whether a file's name alone is in the set.
func (s *patterns) matchesName(base string) bool {
	return s.names[base] || slices.ContainsFunc(s.affixes, func(a affix) bool { return a.matches(base) })
}

func (s *patterns) matches(p splitPath) bool {
	if s.matchesName(p.base) || slices.ContainsFunc(p.lower, s.hasFolder) {
		return true
	}
	for i := range s.globs {
		if s.globs[i].matches(&p) {
			return true
		}
	}
	return false
}

// hasFolder reports whether a folder of this name, in lower case, is in the set.
func (s *patterns) hasFolder(lower string) bool {
	return s.folders[lower] || slices.ContainsFunc(s.folderAffixes, func(a affix) bool { return a.matches(lower) })
}

func newGlob(pattern string) glob {
	g := glob{pattern: pattern}
	rest := strings.TrimPrefix(pattern, "**/")
	if first, _, ok := strings.Cut(rest, "/"); ok && !strings.ContainsAny(first, `*?[\`) {
		g.folder, g.anchored = first, rest == pattern
	}
	if ext := path.Ext(pattern); !strings.ContainsAny(ext, `*?[\/`) {
		g.ext = ext
	}
	return g
}

func (g *glob) matches(p *splitPath) bool {
	switch {
	case g.ext != "" && !strings.HasSuffix(p.base, g.ext):
		return false
	case g.anchored && (len(p.folders) == 0 || p.folders[0] != g.folder):
		return false
	case g.folder != "" && !slices.Contains(p.folders, g.folder):
		return false
	}
	return doublestar.MatchUnvalidated(g.pattern, p.full)
}

// braces returns what a pattern with {a,b} stands for.
func braces(p string) []string {
	open := strings.IndexByte(p, '{')
	if open < 0 {
		return []string{p}
	}
	length := strings.IndexByte(p[open:], '}')
	if length < 0 {
		return []string{p}
	}
	var all []string
	for _, word := range strings.Split(p[open+1:open+length], ",") {
		all = append(all, braces(p[:open]+word+p[open+length+1:])...)
	}
	return all
}
