package ecosystem

import (
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

const npmLock, withDependency = "package-lock.json={}", `package.json={"dependencies":{"left-pad":"1"},"scripts":{"test":"mocha"}}`

// Every ecosystem, with what puts its dependencies in place and what updates its
// lock files; empty where nothing does. F-22
func TestPrepareAndUpdate(t *testing.T) {
	for _, c := range []struct {
		name      string
		dir       fstest.MapFS
		ecosystem string
		prepare   string
		update    string
	}{
		{"npm", files(withDependency, npmLock), "npm", "npm ci", "npm install --package-lock-only --ignore-scripts"},
		{"npm with a shrinkwrap", files(withDependency, "npm-shrinkwrap.json={}"), "npm", "npm ci", "npm install --package-lock-only --ignore-scripts"},
		{"npm without a lock file", files(withDependency), "npm", "npm install --no-package-lock", ""},
		{"npm without dependencies", files(`package.json={"scripts":{"test":"node --test"}}`, npmLock), "npm", "", "npm install --package-lock-only --ignore-scripts"},
		{"npm workspaces", files(`package.json={"workspaces":["a"]}`, npmLock, `a/package.json={"scripts":{"test":"x"}}`), "npm", "npm ci", "npm install --package-lock-only --ignore-scripts"},
		{"broken package.json", files("package.json={", npmLock), "npm", "", "npm install --package-lock-only --ignore-scripts"},
		{"package.json with a mark", files("package.json=\ufeff"+`{"dependencies":{"a":"1"}}`, npmLock), "npm", "npm ci", "npm install --package-lock-only --ignore-scripts"},
		{"pnpm", files(withDependency, "pnpm-lock.yaml"), "pnpm", "pnpm install --frozen-lockfile", "pnpm install --lockfile-only --no-frozen-lockfile --ignore-scripts"},
		{"pnpm by name", files(`package.json={"packageManager":"pnpm@9.1.0","dependencies":{"a":"1"}}`, npmLock), "pnpm", "pnpm install --no-lockfile", ""},
		{"yarn 1", files(withDependency, "yarn.lock=# yarn lockfile v1\n"), "yarn", "yarn install --frozen-lockfile", "yarn install --ignore-scripts --non-interactive"},
		{"yarn 4", files(withDependency, "yarn.lock=# This file is generated\n\n__metadata:\n  version: 8\n"), "yarn", "yarn install --immutable", "yarn install --mode=update-lockfile --no-immutable"},
		{"yarn 1 by name", files(`package.json={"packageManager":"yarn@1.22.22","dependencies":{"a":"1"}}`), "yarn", "yarn install --no-lockfile", ""},
		{"bun", files(withDependency, "bun.lock"), "bun", "bun install --frozen-lockfile", "bun install --lockfile-only --ignore-scripts"},
		{"uv", files("pyproject.toml=[project]\n", "uv.lock"), "uv", "uv sync --frozen", "uv lock"},
		{"uv with extras", files("pyproject.toml=[project.optional-dependencies]\ntest = [\"pytest\"]\n", "uv.lock"), "uv", "uv sync --frozen --all-extras", "uv lock"},
		{"poetry", files("pyproject.toml=[tool.poetry]\n", "poetry.lock"), "poetry", "POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction", "poetry lock --no-interaction"},
		{"pipenv", files("Pipfile", "Pipfile.lock"), "pipenv", "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev", "pipenv lock"},
		{"pip", files("requirements.txt=requests\n", "requirements-dev.txt=pytest\n"), "pip", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt -r requirements-dev.txt", ""},
		{"pip without pytest", files("requirements.txt=requests\n", "conftest.py"), "pip", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt pytest", ""},
		{"a package", files("pyproject.toml=[project]\nname = \"x\"\ndependencies = [\"requests\"]\n[project.optional-dependencies]\ntest = [\"pytest\"]\n"), "pip",
			"python3 -m venv .venv && .venv/bin/pip install -e '.[test]' pytest", ""},
		{"a package in src", files("setup.py", "src/x/__init__.py"), "pip", "python3 -m venv .venv && .venv/bin/pip install -e .", ""},
		{"Python without dependencies", files("setup.py=setup(name='x')\n"), "pip", "", ""},
		{"Python settings alone", files("pyproject.toml=[tool.ruff]\n"), "pip", "", ""},
		{"Go", files("go.mod=module x\n\nrequire (\n\ta.b/c v1.0.0\n)\n", "go.sum"), "go", "go mod download", "go get -t ./... && go mod download all"},
		{"Go without requirements", files("go.mod=module x\n// require nothing\n"), "go", "", "go get -t ./... && go mod download all"},
		{"Go with a vendor folder", files("go.mod=module x\nrequire a.b/c v1.0.0\n", "vendor/modules.txt"), "go", "", ""},
		{"Go workspace", files("go.work=go 1.26\nuse ./a\n", "a/go.mod=module a\n"), "go", "go mod download", "go work sync"},
		{"cargo", files("Cargo.toml=[dependencies]\nitoa = \"1\"\n", "Cargo.lock=version = 4\n\n[[package]]\nname = \"itoa\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\n"),
			"cargo", "cargo fetch --locked", "cargo update --workspace"},
		{"cargo without a lock file", files("Cargo.toml=[dev-dependencies]\nitoa = \"1\"\n"), "cargo", "cargo fetch", ""},
		{"cargo without dependencies", files("Cargo.toml=[package]\nname = \"x\"\n", "Cargo.lock=version = 4\n\n[[package]]\nname = \"x\"\n"), "cargo", "", "cargo update --workspace"},
		{"cargo vendor", files("Cargo.toml=[dependencies]\nitoa = \"1\"\n", ".cargo/config.toml=[source.crates-io]\nreplace-with = \"v\"\n", "vendor/itoa/Cargo.toml", "Cargo.lock=x\nsource = \"y\"\n"),
			"cargo", "", "cargo update --workspace"},
		{"bundler", files("Gemfile=gem 'rake'\n", "Gemfile.lock"), "bundler",
			"bundle config set --local path vendor/bundle && bundle config set --local frozen true && bundle install", "bundle lock"},
		{"bundler without a lock file", files("Gemfile=source 'https://rubygems.org'\ngem 'rake'\n"), "bundler", "bundle config set --local path vendor/bundle && bundle install", ""},
		{"composer", files(`composer.json={"require":{"php":">=8"}}`, "composer.lock"), "composer", "composer install --no-interaction",
			"composer update --no-install --no-scripts --no-plugins --no-interaction --minimal-changes"},
		{"Maven", files("pom.xml"), "maven", "mvn --batch-mode -Dmaven.compiler.failOnError=false -Dmaven.test.failure.ignore=true test clean", ""},
		{"Gradle", files("settings.gradle.kts", "gradlew", "gradle.lockfile"), "gradle", "./gradlew --no-daemon test --test-dry-run && ./gradlew --no-daemon clean",
			"./gradlew --no-daemon dependencies --write-locks"},
		{"dotnet", files("App.sln", "packages.lock.json"), "dotnet", "dotnet restore --locked-mode", "dotnet restore --force-evaluate"},
		{"dotnet without a lock file", files("App.csproj"), "dotnet", "dotnet restore", ""},
		{"mix", files("mix.exs=defp deps, do: [{:jason, \"~> 1.4\"}]", "mix.lock"), "mix",
			"mix local.hex --force --if-missing && mix local.rebar --force --if-missing && mix deps.get --check-locked", "mix deps.get"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Detect(c.dir)
			if len(p.Parts) != 1 || p.Parts[0].Ecosystem != c.ecosystem || p.Parts[0].Folder != Root {
				t.Fatalf("parts: %+v", p.Parts)
			}
			var prepare []string
			if c.prepare != "" {
				prepare = []string{c.prepare}
			}
			if d := cmp.Diff(prepare, p.Prepare); d != "" {
				t.Errorf("prepare (-want +got):\n%s", d)
			}
			if d := cmp.Diff(p.Prepare, p.Parts[0].Prepare); d != "" {
				t.Errorf("the part's (-want +got):\n%s", d)
			}
			var update string
			for _, u := range Updates(c.dir) {
				if u.Folder != Root || u.Ecosystem != c.ecosystem || len(u.Files) == 0 {
					t.Errorf("%+v", u)
				}
				update += u.Command
			}
			if update != c.update {
				t.Errorf("update: %q, want %q", update, c.update)
			}
		})
	}
}

func TestIsInput(t *testing.T) {
	for _, name := range []string{
		"package.json", "web/package.json", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "pnpm-workspace.yaml", "yarn.lock", ".yarnrc.yml", "bun.lock", "bun.lockb", ".npmrc",
		"a/b/c/go.mod", "go.sum", "go.work", "go.work.sum", "Cargo.toml", "Cargo.lock", "rust-toolchain.toml",
		"pyproject.toml", "uv.lock", "poetry.lock", "Pipfile", "Pipfile.lock", "setup.py", "setup.cfg", "requirements.txt", "requirements-dev.txt", "test-requirements.txt", "requirements/constraints.txt", ".python-version",
		"Gemfile", "Gemfile.lock", "x.gemspec", "composer.json", "composer.lock", "pom.xml", ".mvn/maven.config", "build.gradle", "build.gradle.kts", "settings.gradle", "gradle/libs.versions.toml", "gradle.lockfile",
		"gradle/wrapper/gradle-wrapper.properties", "src/App/App.csproj", "App.sln", "packages.lock.json", "Directory.Packages.props", "nuget.config", "NuGet.Config", "global.json", "mix.exs", "mix.lock",
		"patches/left-pad.patch",
	} {
		if !IsInput(name) {
			t.Errorf("%s is none", name)
		}
	}
	for _, name := range []string{"", "main.go", "package.json.md", "my-package.json", "go.mod/x", "src/app.ts", "README.md", "Makefile", "lock", "requirements.md", "tsconfig.json"} {
		if IsInput(name) {
			t.Errorf("%s is one", name)
		}
	}
}

// All files that an ecosystem is told by or that its update changes are inputs: a
// candidate that changes one is prepared anew.
func TestFilesOfEcosystemsAreInputs(t *testing.T) {
	for _, e := range ecosystems() {
		if len(e.manifests) == 0 || len(e.registries) == 0 || e.is == nil || e.gates == nil || e.prepare == nil {
			t.Errorf("%s lacks something", e.name)
		}
		if e.update != nil && len(e.locks) == 0 {
			t.Errorf("%s updates no lock file", e.name)
		}
		for _, name := range append(append([]string{}, e.manifests...), e.locks...) {
			if !IsInput("a/" + name) { // a pattern matches itself
				t.Errorf("%s of %s is no input", name, e.name)
			}
		}
	}
}
