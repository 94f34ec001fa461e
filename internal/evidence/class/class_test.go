package class

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pawl"
)

// classTable is a list of paths by their class. None of them needs a rule or command.
const classTable = `
code
	main.go
	internal/test.go
	internal/contest.go
	internal/latest_testing.go
	src/testing/harness.ts
	src/testing/clock.go
	pkg/testing/fake.go
	cmd/test/main.go
	internal/cli/test/test.go
	internal/cmd/test/run.go
	internal/web/test/probe.go
	src/commands/test.ts
	src/commands/test.rs
	src/command/test.js
	contest.py
	latest.js
	attest.rs
	protest.rb
	src/protest/index.js
	src/contests/contest.go
	contests/contest.py
	testimony.py
	app/testament/models.py
	testing.py
	tester.go
	testify.go
	fixtures.go
	internal/fixtures/fixtures.go
	league/fixtures/schedule.py
	src/fixtures/Lamp.ts
	spec/openapi.yaml
	spec/api/v1.json
	specs/protocol.proto
	specification.py
	inspector.js
	src/spec.ts
	src/specs.go
	src/snapshots/store.go
	db/snapshots/2024.sql
	internal/golden/golden.go
	mocks/client.go
	mock_client.go
	src/vendor/supplier.ts
	app/vendor/models.py
	app/vendors/list.go
	internal/vendor/vendor.go
	vendors/list.rb
	vendor.go
	src/main/java/com/x/LatestTest.java
	src/main/java/com/x/TestController.java
	src/main/kotlin/com/x/TestRunner.kt
	src/main/resources/application.yml
	src/main/java/com/x/test/Probe.java
	src/Foo/SpeedTest.php
	Models/SpeedTest.cs
	Controllers/Home.cs
	ui/index.html
	resources/views/home.blade.php
	support/desk.py
	helpers/format.js
	src/helpers/test.css
	src/utils.ts
	src/setup.ts
	setup.ts
	src/teardown.js
	src/lib.rs
	src/main.rs
	src/attest.rs
	benches/speed.rs
	examples/hello.rs
	dist/index.js
	scripts/check.sh
	ci/test.sh
	Makefile
	justfile
	Taskfile.yml
	CMakeLists.txt
	.dockerignore
	.env.example
	flake.nix
	binding.gyp
	user.service.ts
	src/crush.ts
	index.html
	style.css
	app.config.js
	next.config.js
	webpack.config.js
	rollup.config.mjs
	tailwind.config.ts
	docs/conf.py
	docs/build.js
	internal/tool/bash.md
	src/prompts/system.md
	lib/templates/mail.txt
	notes.txt
	migrations/001_init.sql
	features/login.rb
	features/pay.go
	conftest.go
	conftest.pyc
	my_conftest.py
	pytest.py
	Test.go
	TEST.GO
	main_test.go.bak
	a_test.golang
	_test.goo
	x.Test.js.map
	github/client.go
	claude/client.py
	cursor/position.ts
	husky/dog.js
	.githubber/x.yml
	vscode/tasks.json
	tasks.json
	launch.json
	settings.json
	envrc
	cargo.toml
	gomod
	package.jsonc
	src/package.ts
	requirements.py
	lockfile.go
	gemfile.rb
	node_modules.js
	third_party.go
	fixtures
	test
	tests
	testdata
	vendor
	.hidden
	a b/c d.go
	ünïcode/größe.go
	"quoted".js
	new
	..go
	nunit.py
	lib/rspec.js
	lib/test_framework.ts2
	backtest/engine.py
	loadtest/run.go
	speedtest/speed.ts
	ab-test/variants.ts
	ab_test/variants.py
	src/app/quiz-tests.ts
	Directory.Build
	gradle.py
	rails/spec.txt
	api/spec.go
test
	main_test.go
	internal/a/b_test.go
	_test.go
	x_test.go
	test/e2e/api_test.go
	testutil/util_test.go
	internal/cli/test/test_test.go
	cmd/test/main_test.go
	sum.test.js
	src/sum.test.ts
	src/sum.spec.tsx
	src/__tests__/sum.js
	src/__tests__/deep/sum.tsx
	test/sum.js
	test/deep/sum.mjs
	packages/core/test/lint.test.js
	packages/core/test/lint.js
	tests/e2e/login.spec.ts
	e2e/login.ts
	cypress/e2e/login.cy.ts
	cypress/e2e/login.ts
	src/a.cy.jsx
	test.js
	src/test.mjs
	test-parser.mjs
	lib/parser-test.js
	lib/parser_test.js
	spec/parserSpec.js
	spec/parser.spec.js
	types/index.test-d.ts
	contest.test.js
	latest.spec.ts
	test_a.py
	tests/test_a.py
	tests/unit/test_a.py
	tests/fixtures/test_collected.py
	pkg/a_test.py
	pkg/tests/testold.py
	app/tests.py
	src/app/test_views.py
	geo/distance_test.py
	mailbox_tests/test_order.py
	features/login.feature
	acceptance/login.robot
	tests/parse.rs
	tests/cli/main.rs
	crates/json/tests/parse.rs
	src/tests.rs
	src/duration/tests.rs
	src/tests/all.rs
	src/parser/parser_test.rs
	src/parser/test_parser.rs
	src/test.rs
	src/test/java/com/x/FooTest.java
	src/test/java/com/x/TestFoo.java
	src/test/java/com/x/FooTests.java
	src/test/java/com/x/FooTestCase.java
	src/test/java/com/x/FooIT.java
	src/integrationTest/java/com/x/FooTest.java
	src/test/kotlin/com/x/FooTest.kt
	src/commonTest/kotlin/FooTest.kt
	src/test/groovy/FooSpec.groovy
	module/src/test/java/FooTest.java
	FooTest.java
	test/FooTest.java
	spec/models/user_spec.rb
	test/models/user_test.rb
	test/test_user.rb
	lib/user_spec.rb
	tests/UserTest.php
	tests/Unit/UserTest.php
	tests/Feature/login.php
	Tests/Unit/UserTest.php
	src/Bundle/Tests/UserTest.php
	tests/001.phpt
	spec/UserSpec.php
	tests/acceptance/LoginCest.php
	App.Tests/UserTests.cs
	App.Tests/UserTest.cs
	App.UnitTests/Sub/UserTest.cs
	tests/App/UserFacts.cs
	Lib/UserTests.cs
	tests/run.bats
	t/basic.t
	lib/t/basic.t
	test/deploy_test.sh
	test_deploy.sh
	test/app_test.exs
	test/widget_test.dart
	Tests/AppTests/UserTests.swift
support
	testdata/a.txt
	internal/x/testdata/golden.json
	internal/x/testdata/src/a/a.go
	internal/x/testdata/a_test.go
	internal/x/testdata/package.json
	internal/x/testdata/Makefile
	internal/x/testdata/.envrc
	internal/x/testdata/go.mod
	invoice/testdata/invoice.txt.golden
	internal/testutil/clock.go
	internal/testhelpers/db.go
	test/helpers.go
	tests/harness.go
	internal/store/storetest/cases.go
	net/http/httptest/server.go
	e2e/framework.go
	src/__snapshots__/a.test.js.snap
	test/__snapshots__/reminder.txt
	src/__fixtures__/user.js
	src/__mocks__/fs.js
	test/fixtures/prices.csv
	test/fixtures/app/package.json
	test/fixtures/app/index.js
	test/helpers/server.js
	test/support/db.ts
	test/utils/wait.ts
	test/data/routes.json
	test/setup.cjs
	test/setup.js
	tests/setup.ts
	tests/setup/env.ts
	tests/helpers.js
	tests/golden/report.txt
	src/setupTests.ts
	setupTests.js
	jest.setup.js
	vitest.setup.ts
	globalSetup.ts
	src/test.ts
	src/test-utils.tsx
	test/support/jasmine-helper.js
	src/test/resources/config/pytest.txt
	src/test-utils/render.tsx
	test-helpers.js
	spec/support/capybara.rb
	spec/helpers/reporter.js
	spec/factories/users.rb
	cypress/support/commands.js
	cypress/fixtures/user.json
	login.spec.ts-snapshots/login.png
	.env.test
	conftest.py
	tests/conftest.py
	src/pkg/conftest.py
	tests/__init__.py
	tests/helpers.py
	tests/unit/samples.py
	tests/asserts.py
	tests/data/staging.txt
	mailbox_tests/order_case.py
	integration_tests/runner.py
	test/common.py
	pkg/test/common.py
	features/environment.py
	features/steps/login.py
	tests/__snapshots__/test_a.ambr
	tests/cassettes/login.yaml
	cassettes/login.yaml
	app/fixtures/users.json
	golden/out.txt
	tests/common/mod.rs
	tests/ui/fail.rs
	tests/ui/fail.stderr
	src/snapshots/crate__a.snap
	proptest-regressions/a.txt
	src/test/java/com/x/Fixtures.java
	src/test/resources/users.json
	src/test/resources/META-INF/services/org.junit.jupiter.api.extension.Extension
	src/testFixtures/java/com/x/Users.java
	src/androidTest/java/com/x/Robot.java
	src/test/kotlin/io/kotest/provided/ProjectConfig.kt
	UserTest.report.approved.txt
	spec/spec_helper.rb
	spec/rails_helper.rb
	test/test_helper.rb
	test/fixtures/users.yml
	features/support/env.rb
	features/step_definitions/login.rb
	tests/bootstrap.php
	tests/Pest.php
	tests/Support/Users.php
	App.Tests/Builders.cs
	App.Tests/Report.verified.txt
	App.Tests/data/users.json
	Lib/Snapshot.verified.json
	test/test_helper.bash
	test/test_helper/common.bash
	test/run.sh
	test/test_helper.exs
	TESTS/data.bin
	Fixtures/users.json
	__tests__/data.json
	tests/x/y/z.bin
	unit-test/data.csv
gate_input
	.golangci.yml
	.golangci.toml
	jest.config.js
	test/jest-e2e.json
	packages/a/vitest.config.ts
	vite.config.js
	.mocharc.cjs
	test/mocha.opts
	spec/support/jasmine.json
	karma.conf.js
	playwright.config.ts
	.nycrc
	.c8rc.json
	tsconfig.json
	packages/a/tsconfig.build.json
	eslint.config.mjs
	.eslintrc
	.eslintrc.json
	.eslintignore
	.prettierrc
	.prettierrc.yaml
	.prettierignore
	biome.json
	babel.config.js
	.babelrc
	turbo.json
	bunfig.toml
	deno.json
	patches/vitest+1.6.0.patch
	pytest.ini
	tests/pytest.ini
	tox.ini
	noxfile.py
	.coveragerc
	mypy.ini
	ruff.toml
	.flake8
	.pylintrc
	pyrightconfig.json
	setup.py
	sitecustomize.py
	src/x.pth
	build.rs
	crates/a/build.rs
	.config/nextest.toml
	clippy.toml
	rustfmt.toml
	deny.toml
	build.gradle
	app/build.gradle.kts
	gradle/test.gradle
	gradle.properties
	gradlew
	mvnw
	.mvn/maven.config
	src/test/resources/junit-platform.properties
	checkstyle.xml
	config/checkstyle.xml
	testng.xml
	detekt.yml
	.rspec
	Rakefile
	lib/tasks/ci.rake
	.rubocop.yml
	.rubocop_todo.yml
	cucumber.yml
	phpunit.xml
	phpunit.xml.dist
	phpstan.neon
	.php-cs-fixer.php
	psalm.xml
	behat.yml
	infection.json
	ci.runsettings
	App.Tests/xunit.runner.json
	.globalconfig
	Directory.Build.targets
	.shellcheckrc
	.editorconfig
	.gitignore
	web/.gitignore
	codecov.yml
	.yamllint
vendored
	vendor/modules.txt
	vendor/example.org/semver/semver.go
	vendor/example.org/semver/semver_test.go
	vendor/github.com/a/b/testdata/x
	vendor/luhnish/src/lib.rs
	vendor/luhnish/.cargo-checksum.json
	vendor/luhnish/Cargo.toml
	vendor/bundle/ruby/a.rb
	vendor/autoload.php
	services/billing/vendor/modules.txt
	services/billing/vendor/github.com/a/b.go
	internal/vendor/github.com/a/b.go
	src/x/vendor/modules.txt
	node_modules/pad/index.js
	node_modules/pad/package.json
	node_modules/pad/test/a.test.js
	node_modules/.bin/jest
	packages/a/node_modules/x/.github/workflows/ci.yml
	node_modules/x/.envrc
	third_party/zlib/zlib.c
	src/pip/_vendor/six.py
	.yarn/releases/yarn-4.0.0.cjs
	.yarn/plugins/x.cjs
	.pnp.cjs
	gradle/wrapper/gradle-wrapper.jar
	libs/driver.jar
policy
	.pawl/config.yaml
	.pawl/recipes/x.yaml
	.github/workflows/ci.yml
	.github/CODEOWNERS
	.github/test/fixtures/x.json
	.github/workflows/x_test.go
	.github/copilot-instructions.md
	.gitlab-ci.yml
	.gitlab/ci/test.yml
	.circleci/config.yml
	.travis.yml
	azure-pipelines.yml
	Jenkinsfile
	.buildkite/pipeline.yml
	CODEOWNERS
	.claude/settings.json
	.claude/CLAUDE.md
	web/.claude/settings.json
	.CLAUDE/settings.json
	.cursor/rules/a.mdc
	.cursorrules
	.mcp.json
	.codex/config.toml
	.husky/pre-commit
	packages/a/.husky/pre-push
	.githooks/pre-push
	lefthook.yml
	.pre-commit-config.yaml
	.lintstagedrc.json
	.envrc
	services/a/.envrc
	mise.toml
	.vscode/tasks.json
	.vscode/launch.json
	.vscode/settings.json
	web/.vscode/settings.json
	x.code-workspace
	.idea/runConfigurations/All.xml
	.run/All.run.xml
	.zed/tasks.json
	.devcontainer/devcontainer.json
	.devcontainer.json
	.gitpod.yml
	.vimrc
	.dir-locals.el
	.gitattributes
	docs/.gitattributes
	renovate.json
	AGENTS.md
	web/CLAUDE.md
	.bundle/config
	.mvn/jvm.config
	.mvn/extensions.xml
	gradle/init.gradle
	shell.nix
	web/.irbrc
	.config/git/config
	deploy/app.service
	deploy/systemd/app.socket
	x.sublime-project
	crush.json
	.emacs
	GEMINI.md
	QWEN.md
	.agents/skills/x/SKILL.md
	.npmrc
	web/.yarnrc.yml
	.pnpmfile.cjs
	pip.conf
	.bazelrc
	ci/x.bazelrc
	Dockerfile
	api/Dockerfile.prod
	api.Dockerfile
	docker-compose.yml
	compose.override.yaml
	.env
	.env.production
	.env.a.local
	.bashrc
	home/.zshrc
	.config/fish/config.fish
	.ssh/config
	authorized_keys
	Vagrantfile
dependency
	go.mod
	go.sum
	plugins/audit/go.mod
	go.work
	package.json
	packages/cli/package.json
	tests/package.json
	package-lock.json
	yarn.lock
	pnpm-lock.yaml
	pnpm-workspace.yaml
	bun.lockb
	.nvmrc
	pyproject.toml
	setup.cfg
	requirements.txt
	requirements-dev.txt
	dev-requirements.txt
	requirements/test.txt
	tests/requirements.txt
	Pipfile
	Pipfile.lock
	poetry.lock
	uv.lock
	.python-version
	Cargo.toml
	Cargo.lock
	crates/a/Cargo.toml
	.cargo/config.toml
	rust-toolchain.toml
	pom.xml
	module/pom.xml
	settings.gradle.kts
	gradle/libs.versions.toml
	gradle/wrapper/gradle-wrapper.properties
	Gemfile
	Gemfile.lock
	x.gemspec
	composer.json
	composer.lock
	App/App.csproj
	App.Tests/App.Tests.csproj
	Directory.Packages.props
	packages.lock.json
	NuGet.config
	App.sln
	.gitmodules
	.tool-versions
docs
	README.md
	README
	readme.txt
	CHANGELOG.md
	LICENSE
	LICENSE-MIT
	CONTRIBUTING.md
	docs/guide.md
	docs/test/guide.md
	docs/images/a.png
	tests/README.txt
	doc/usage.txt
	guide.rst
	design/notes.adoc
	src/README.md
	internal/README.md
	tests/README.md
	.pawl/tasks/001/task.md
	.pawl/tasks/001/notes.json
`

func table(tb testing.TB) map[string]pawl.PathClass {
	tb.Helper()
	want := map[string]pawl.PathClass{}
	var class pawl.PathClass
	for line := range strings.Lines(classTable) {
		line = strings.TrimRight(line, "\n")
		name, isPath := strings.CutPrefix(line, "\t")
		switch {
		case line == "":
		case !isPath:
			class = pawl.PathClass(line)
			if !slices.Contains(pawl.PathClasses, class) {
				tb.Fatalf("class %q is none", line)
			}
		case want[name] != "":
			tb.Errorf("%s is in the table twice", name)
		default:
			want[name] = class
		}
	}
	return want
}

func TestOf(t *testing.T) {
	c := New(nil, []string{"go test ./...", "npm ci", "cargo test", "python -m pytest"})
	for name, class := range table(t) {
		if got := c.Of(name); got != class {
			t.Errorf("%s is %s, want %s", name, got, class)
		}
	}
}

// Whatever a path is called, it has a class.
func TestOfHostileNames(t *testing.T) {
	c := New(nil, nil)
	for _, name := range []string{"", "/", "//", ".", "..", "a/", "/a", "a//b", "a\nb", "\x00", "\xff\xfe", strings.Repeat("a/", 2000) + "b", strings.Repeat("*", 300),
		"[", "a[b", "{a", "{a,b}/c", `a\b\c_test.go`, "vendor/", "src/", "../../etc/passwd", "tests", "src/main", "__tests__/", strings.Repeat("test/", 50)} {
		if class := c.Of(name); !slices.Contains(pawl.PathClasses, class) {
			t.Errorf("%q has class %q", name, class)
		}
		c.Parts(name, nil, []byte("x"))
		c.Mix(name, []byte("x"), nil, pawl.PathClasses)
		c.SetUp(name, []byte("x"))
	}
}

func TestRules(t *testing.T) {
	c := New([]Rule{
		{"*.sql", pawl.ClassSupport},
		{"quality/", pawl.ClassTest},
		{"/tools/gen.go", pawl.ClassVendored},
		{"api/**/*.json", pawl.ClassGateInput},
		{"keep.sql", pawl.ClassCode},
		{"package.json", pawl.ClassCode},
		{"[", pawl.ClassDocs},
	}, nil)
	for name, want := range map[string]pawl.PathClass{
		"a.sql": pawl.ClassSupport, "x/y/a.sql": pawl.ClassSupport, "keep.sql": pawl.ClassCode, "x/keep.sql": pawl.ClassCode,
		"quality/a.go": pawl.ClassTest, "x/quality/y/a.go": pawl.ClassTest, "quality": pawl.ClassCode, "equality/a.go": pawl.ClassCode,
		"tools/gen.go": pawl.ClassVendored, "x/tools/gen.go": pawl.ClassCode,
		"api/a.json": pawl.ClassGateInput, "api/v1/x/a.json": pawl.ClassGateInput, "x/api/a.json": pawl.ClassCode,
		".github/a.sql": pawl.ClassPolicy, "a_test.go": pawl.ClassTest,
	} {
		if got := c.Of(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := c.Parts("package.json", []byte(`{}`), []byte(`{"scripts":{}}`)); !slices.Equal(got, []pawl.PathClass{pawl.ClassCode}) {
		t.Errorf("a file that a rule names is split: %v", got)
	}
}

func TestRuleCheck(t *testing.T) {
	for _, pattern := range []string{"*.go", "a/b", "/a/", "**/x/**", "a b", "ä/*.{x,y}", `\[x`} {
		if err := (Rule{pattern, pawl.ClassTest}).Check(); err != nil {
			t.Errorf("%q: %v", pattern, err)
		}
	}
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{Rule{"", pawl.ClassTest}, `pattern "" matches no path`},
		{Rule{"/", pawl.ClassTest}, "matches no path"},
		{Rule{"!a", pawl.ClassTest}, "there is no negation"},
		{Rule{"a[", pawl.ClassTest}, "is not a glob"},
		{Rule{"{a", pawl.ClassTest}, "is not a glob"},
		{Rule{`a\`, pawl.ClassTest}, "is not a glob"},
		{Rule{"../a", pawl.ClassTest}, "an empty part, . or .."},
		{Rule{"a//b", pawl.ClassTest}, "an empty part, . or .."},
		{Rule{"\xff", pawl.ClassTest}, "not UTF-8"},
		{Rule{"a", "tests"}, `pattern "a" has class "tests", want one of code, test, support, gate_input, vendored, policy, dependency, docs`},
		{Rule{"a", ""}, `has class ""`},
	} {
		if err := c.rule.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want %q", c.rule.Pattern, err, c.want)
		}
	}
}

// Each entry of a table has to match something, or a typing error in it is never seen.
func TestTablesMatch(t *testing.T) {
	for _, e := range ecosystems {
		for list, patterns := range map[string][]string{"tests": e.tests, "below": e.below, "setUp": e.setUp, "fixtures": e.fixtures, "support": e.support,
			"gateInputs": e.gateInputs, "dependencies": e.dependencies, "vendored": e.vendored} {
			for _, p := range patterns {
				for _, one := range braces(p) {
					name := example(one)
					if !compile([]string{one}).matches(split(name)) {
						t.Errorf("%s: %s: %q does not match %q", e.name, list, one, name)
					}
				}
			}
		}
	}
}

// example returns a path that a pattern is meant for.
func example(pattern string) string {
	name := strings.TrimPrefix(pattern, "/")
	if strings.HasSuffix(name, "/") {
		name += "x"
	}
	name = strings.NewReplacer("[tT]", "T", "**", "a/b").Replace(name)
	return strings.ReplaceAll(name, "*", "x")
}

func TestFolderNames(t *testing.T) {
	for _, list := range [][]string{fixtureFolders, helperFolders, productFolders, toolFolders, commandFolders} {
		for _, name := range list {
			if name != strings.ToLower(name) || strings.ContainsAny(name, "*/") {
				t.Errorf("folder %q: want a plain name in lower case", name)
			}
		}
	}
}

// diff500 are 500 paths with contents, as of a large change.
func diff500() (names []string, base, candidate map[string][]byte) {
	base, candidate = map[string][]byte{}, map[string][]byte{}
	rust := strings.Repeat("/// A thing.\npub fn f(x: &'static str) -> usize { x.len() + \"a{b\".len() }\n\n", 60)
	for i := range 500 {
		dir := fmt.Sprintf("services/area%d/package%d", i%7, i)
		name, was, is := dir+"/handler.go", "package a\n", "package a\n\nvar x = 1\n"
		switch i % 10 {
		case 1:
			name = dir + "/handler_test.go"
		case 2:
			name, was = dir+"/src/lib.rs", rust
			is = rust + "#[cfg(test)]\nmod tests {\n    #[test]\n    fn it() { assert_eq!('x', 'x'); }\n}\n"
		case 3:
			name, was, is = dir+"/package.json", `{"name":"a","scripts":{"test":"jest"},"dependencies":{"a":"1"}}`, `{"name":"a","scripts":{"test":"true"},"dependencies":{"a":"2"}}`
		case 4:
			name, was, is = dir+"/Cargo.toml", "[package]\nname = \"a\"\n\n[dependencies]\nserde = \"1\"\n", "[package]\nname = \"b\"\n\n[dependencies]\nserde = \"2\"\n\n[lib]\ntest = false\n"
		case 5:
			name = dir + "/src/components/Button.test.tsx"
		case 6:
			name = dir + "/testdata/out.golden"
		case 7:
			name = dir + "/README.md"
		case 8:
			name = dir + "/src/test/java/com/example/FooTest.java"
		}
		names = append(names, name)
		base[name], candidate[name] = []byte(was), []byte(is)
	}
	return names, base, candidate
}

// BenchmarkClasses classifies a diff of 500 files by name and content.
func BenchmarkClasses(b *testing.B) {
	names, base, candidate := diff500()
	rules := []Rule{{"qa/**/*.json", pawl.ClassTest}, {"*.sql", pawl.ClassSupport}, {"/tools/", pawl.ClassCode}}
	b.ReportAllocs()
	for b.Loop() {
		c := New(rules, []string{"go test ./...", "npm test", "make check", "./ci/run.sh"})
		for _, name := range names {
			c.Parts(name, base[name], candidate[name])
		}
	}
}

// What coding agents take from a repository, at any depth; all of it is policy. F-125
func TestConfiguresAgents(t *testing.T) {
	for name, want := range map[string]bool{
		"AGENTS.md": true, "deep/GEMINI.md": true, ".mcp.json": true, "opencode.json": true, ".gemini/.env": true, "pkg/.claude/settings.json": true,
		".agents/skills/x/SKILL.md": true, ".github/copilot-instructions.md": true, ".github/hooks/x.json": true, ".vscode/mcp.json": true, ".cursorrules": true,
		"README.md": false, "src/agents/main.go": false, ".github/workflows/ci.yml": false, ".vscode/settings.json": false, ".npmrc": false, ".env": false, "Dockerfile": false,
	} {
		if got := ConfiguresAgents(name, false); got != want {
			t.Errorf("%s configures agents: %t", name, got)
		}
		if class := New(nil, nil).Of(name); want && class != pawl.ClassPolicy {
			t.Errorf("%s is %s", name, class)
		}
	}
	for name, want := range map[string]bool{".claude": true, "deep/.opencode": true, ".github/prompts": true, ".github": false, ".vscode": false, "src": false, "AGENTS.md": false} {
		if got := ConfiguresAgents(name, true); got != want {
			t.Errorf("the folder %s configures agents: %t", name, got)
		}
	}
}
