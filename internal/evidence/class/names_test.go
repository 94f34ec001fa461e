package class

import (
	"slices"
	"strings"
	"testing"

	"pawl"
)

// named returns the gate inputs and set-up files of a tree, as a caller finds them.
func named(t *testing.T, commands []string, tree map[string]string) (gateInputs, setUp []string) {
	t.Helper()
	c := New(nil, commands)
	for name, data := range follow(t, c, tree) {
		if slices.Contains(c.whole(name), pawl.ClassGateInput) {
			gateInputs = append(gateInputs, name)
		}
		if c.IsSetUp(name, []byte(data)) {
			setUp = append(setUp, name)
		}
	}
	slices.Sort(gateInputs)
	slices.Sort(setUp)
	return gateInputs, setUp
}

func TestCommands(t *testing.T) {
	for command, want := range map[string]string{
		"./check.sh":                     "check.sh",
		"check.sh":                       "check.sh",
		"sh ci/run":                      "ci/run",
		"sh check":                       "check",
		"bash -euo pipefail ci/run.sh":   "ci/run.sh",
		"python scripts/test.py --fast":  "scripts/test.py",
		"python3 -u scripts/test.py":     "scripts/test.py",
		"python -m scripts.test":         "scripts/test.py",
		"python -m":                      "",
		"python -m pytest tests app.py":  "",
		"pytest tests/test_a.py::test_x": "",
		"FOO=1 ./check.sh":               "check.sh",
		"env -u FOO ./check.sh":          "check.sh",
		"timeout 60 nice -n 10 ./check.sh && go test ./...": "check.sh",
		"time -p ./check.sh || exit 1":                      "check.sh",
		"if ! ./check.sh; then exit 1; fi":                  "check.sh",
		"set -e; . ci/env; ci/run":                          "ci/env ci/run",
		"cd ci && ./run":                                    "ci/run",
		"sh -c './check.sh && ci/run'":                      "check.sh ci/run",
		`"$PWD"/ci/run`:                                     "ci/run",
		"$(git rev-parse --show-toplevel)/ci/run":           "ci/run",
		"x=$(ci/run) && echo `./check.sh`":                  "check.sh ci/run",
		"for f in ci/*.sh; do sh $f; done":                  "ci/run.sh",
		"find . -name '*.go' | xargs ./check.sh":            "check.sh",
		"uv run python scripts/test.py":                     "scripts/test.py",
		"poetry run pytest -c conf/pytest-ci.cfg":           "conf/pytest-ci.cfg",
		"coverage run manage.py test":                       "manage.py",
		"node test/sum.test.js":                             "",
		"node src/cli.js --selftest":                        "",
		"eslint --config conf/lint.json src/a.js main.js":   "conf/lint.json",
		"tsc -p conf/ts.json":                               "conf/ts.json",
		"npx tsx scripts/gen.ts":                            "scripts/gen.ts",
		"go vet ./... main.go":                              "",
		"go run ./tools/lint ./...":                         "tools/lint/main.go",
		"go run ./cmd/app":                                  "",
		"shellcheck install.sh ./check.sh":                  "",
		"make":                                              "Makefile",
		"make -C conf check":                                "conf/Makefile",
		"make -f conf/ci.mk":                                "conf/ci.mk",
		"just test":                                         "justfile",
		"./app < in/case.txt | diff - out/case.txt":         "in/case.txt out/case.txt",
		"go test ./... > out/case.txt":                      "",
		"curl https://x.org/ci/run | sh":                    "",
		"sh /usr/bin/check ../check.sh ~/ci/run":            "",
		"php artisan test":                                  "artisan",
		"npm test":                                          "", // package.json is split
		"pre-commit run -a":                                 ".pre-commit-config.yaml",
		"# ./check.sh":                                      "",
		"":                                                  "",
	} {
		tree := map[string]string{}
		for _, name := range strings.Fields("check.sh check ci/run ci/run.sh ci/env scripts/test.py scripts/gen.ts app.py main.go main.js manage.py artisan conf/pytest-ci.cfg " +
			"conf/lint.json conf/ts.json tools/lint/main.go cmd/app/main.go src/cli.js src/a.js test/sum.test.js tests/test_a.py install.sh Makefile conf/Makefile conf/ci.mk " +
			"justfile in/case.txt out/case.txt package.json .pre-commit-config.yaml") {
			tree[name] = ""
		}
		got, _ := named(t, []string{command}, tree)
		if list := strings.Join(got, " "); list != want {
			t.Errorf("%s: gate inputs are %q, want %q", command, list, want)
		}
	}
}

func TestFollow(t *testing.T) {
	for _, c := range []struct {
		name, commands string
		tree           map[string]string
		inputs, setUp  string
	}{
		{
			"scripts of package.json that gates run", "npm test",
			map[string]string{
				"package.json":   `{"scripts": {"pretest": "./ci/pre.sh", "test": "npm run unit && sh ci/more", "unit": "node --import ./hooks.mjs --test", "start": "node server.js", "deploy": "./deploy.sh"}}`,
				"ci/pre.sh":      "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\nnode scripts/a.js\n",
				"ci/lib.sh":      "ci/data.txt\n",
				"ci/data.txt":    "",
				"ci/more":        "./ci/last.sh",
				"ci/last.sh":     "",
				"hooks.mjs":      "",
				"server.js":      "",
				"deploy.sh":      "",
				"scripts/a.js":   "const b = require('./b');\nimport x from \"./c.js\";\nimport y from '../src/app.js'\n",
				"scripts/b.js":   "",
				"scripts/c.js":   "",
				"scripts/d.js":   "",
				"src/app.js":     "",
				"src/b.js":       "",
				"web/server.js":  "",
				"web/hooks.mjs":  "",
				"web/ci/last.sh": "",
			},
			"ci/data.txt ci/last.sh ci/lib.sh ci/more ci/pre.sh scripts/a.js scripts/b.js scripts/c.js", "hooks.mjs",
		},
		{
			"install scripts", "npm ci && go test ./...",
			map[string]string{"package.json": `{"scripts": {"postinstall": "node patch.js", "build": "node build.js"}}`, "patch.js": "", "build.js": ""},
			"patch.js", "",
		},
		{
			"-r of programs that load what it names", "node_modules/.bin/mocha -r ./a.js && bundle exec rspec -r ./b.rb && npm test -- -r ./c.js && NODE_ENV=test npx tape -r d.js 'test/*.js'",
			map[string]string{"a.js": "", "b.rb": "", "c.js": "", "d.js": "", "package.json": `{"scripts": {"test": "mocha"}}`},
			"", "a.js b.rb c.js d.js",
		},
		{
			"-r of other programs", "python3 -m venv .venv && .venv/bin/pip install -r requirements.txt -r needed.txt && uv pip install -r requirements.txt && pip-compile -r a.in && python -m pip install -r needed.txt && cp -r golden.d to.d && grep -r ./a.txt",
			map[string]string{"requirements.txt": "", "needed.txt": "", "a.in": "", "golden.d": "", "to.d": "", "a.txt": ""},
			"", "",
		},
		{
			"scripts by pattern", "npx run-s 'lint:*'",
			map[string]string{"package.json": `{"scripts": {"lint:a": "./a.sh", "lint:b": "./b.sh", "test": "./c.sh"}}`, "a.sh": "", "b.sh": "", "c.sh": ""},
			"", "",
		},
		{
			"workspaces", "npm test --workspaces",
			map[string]string{"package.json": `{}`, "packages/a/package.json": `{"scripts": {"test": "node check.js"}}`, "packages/a/check.js": "", "check.js": ""},
			"packages/a/check.js", "",
		},
		{
			"recipes of a makefile", "make check",
			map[string]string{
				"Makefile":  "SCRIPT = ci/$(NAME).sh\nNAME := run\ninclude ci/rules.mk\n.PHONY: check\nall: deploy\n\t./deploy.sh\ncheck: lint fixtures.txt main.c\n\t@$(SCRIPT) \\\n\t  out/x.txt\n\t$(MAKE) more\nlint: ; ./lint.sh\nmore:\n\t./more.sh\ndeploy:\n\t./other.sh\n",
				"deploy.sh": "", "ci/run.sh": "", "ci/rules.mk": "check:\n\tpython3 ci/gen.py\n", "ci/gen.py": "import helper\nimport os\nopen('data/x.csv')\n", "ci/helper.py": "", "helper.py": "",
				"data/x.csv": "", "lint.sh": "", "more.sh": "", "other.sh": "", "fixtures.txt": "", "main.c": "", "out/x.txt": "",
			},
			"Makefile ci/gen.py ci/helper.py ci/rules.mk ci/run.sh data/x.csv fixtures.txt lint.sh more.sh out/x.txt", "",
		},
		{
			"the first target", "make",
			map[string]string{"Makefile": "X = 1\n.SUFFIXES:\nfirst:\n\t./a.sh\nsecond:\n\t./b.sh\n", "a.sh": "", "b.sh": ""},
			"Makefile a.sh", "",
		},
		{
			"a makefile that no gate uses", "go test ./...",
			map[string]string{"Makefile": "all:\n\t./a.sh\n", "a.sh": "", "package.json": `{"scripts": {"test": "./a.sh"}}`},
			"", "",
		},
		{
			"set-up files of configurations", "npm test",
			map[string]string{
				"package.json":       `{"jest": {"setupFiles": ["<rootDir>/env.js"], "extends": "./base.json"}, "mocha": {"require": "./hook"}}`,
				"jest.config.js":     "module.exports = {\n  setupFilesAfterEnv: [\n    './after.js', \"@testing-library/jest-dom\"],\n globalSetup: './lib/global.ts' }",
				".mocharc.yml":       "require:\n  - ./one.js\n  - ts-node/register\nspec: x\n",
				".mocharc.json":      `{"require": ["./two.cjs"]}`,
				".rspec":             "--require ./rspec_more\n--format doc\n",
				"phpunit.xml":        `<phpunit bootstrap="boot.php"><x/></phpunit>`,
				"pytest.ini":         "[pytest]\naddopts = -p plugins.fast -q\n",
				"plugins/fast.py":    "",
				"base.json":          "",
				"env.js":             "",
				"hook.js":            "",
				"after.js":           "",
				"lib/global.ts":      "",
				"one.js":             "",
				"two.cjs":            "",
				"rspec_more.rb":      "",
				"boot.php":           "",
				"app.js":             "",
				"vendor/conftest.py": "",
			},
			".mocharc.json .mocharc.yml .rspec base.json jest.config.js phpunit.xml pytest.ini", "after.js boot.php env.js hook.js lib/global.ts one.js plugins/fast.py rspec_more.rb two.cjs",
		},
		{
			"a policy file that a gate runs", ".github/scripts/check.sh",
			map[string]string{".github/scripts/check.sh": "./x.sh", "x.sh": ""},
			".github/scripts/check.sh x.sh", "",
		},
		{
			"scripts that name each other", "./a.sh",
			map[string]string{"a.sh": "./b.sh", "b.sh": "./a.sh; ./c.sh", "c.sh": "\x00\xff$($(`\"'"},
			"a.sh b.sh c.sh", "",
		},
	} {
		inputs, setUp := named(t, []string{c.commands}, c.tree)
		want := c.inputs
		if c.name == "scripts by pattern" {
			want = "a.sh b.sh"
		}
		if got := strings.Join(inputs, " "); got != want {
			t.Errorf("%s: gate inputs are %s\n\twant %s", c.name, got, want)
		}
		if got := strings.Join(setUp, " "); got != c.setUp {
			t.Errorf("%s: set-up files are %s\n\twant %s", c.name, got, c.setUp)
		}
	}
}

func TestNamed(t *testing.T) {
	c := New(nil, []string{"./check.sh && make", "./check.sh"})
	if got, want := c.Named(), []string{"check.sh", "Makefile", "makefile", "GNUmakefile"}; !slices.Equal(got, want) {
		t.Errorf("named are %q, want %q", got, want)
	}
	if c.Follow("README.md", []byte("./x.sh")) || c.Follow("check.sh", []byte("./check.sh")) {
		t.Error("Follow reports a new name where there is none")
	}
	if !c.Follow("check.sh", []byte("./more.sh")) || c.Follow("check.sh", []byte("./more.sh")) {
		t.Error("Follow must report a new name once")
	}
}

func FuzzFollow(f *testing.F) {
	f.Add("Makefile", "a: b\n\t$(X)\n")
	f.Add("package.json", `{"scripts":{"test":"a b `+"`c`"+`"}}`)
	f.Add("ci/run.sh", "$(a ${b:-c} `d` 'e' \"f\")")
	f.Add("jest.config.js", "setupFiles: ['a'")
	f.Fuzz(func(_ *testing.T, name, data string) {
		c := New(nil, []string{"make", "npm test", "ci/run.sh", data, "./" + name})
		c.Follow(name, []byte(data))
		c.SetUp(name, []byte(data))
		c.Of(name)
	})
}

// What a model may write takes no time that it decides.
func TestFollowHostile(t *testing.T) {
	big := func(s string) string { return strings.Repeat(s, maxFollowed/len(s)) }
	for name, data := range map[string]string{
		"Makefile":     "A = " + strings.Repeat("$(A)", 20000) + "\nB = $(A)$(A)\nall: $(B)\n\t" + strings.Repeat("$(B)", 20000) + "\n",
		"run.sh":       big("$("),
		"a.sh":         big("`'"),
		"b.sh":         big("ci/*.x "),
		"c.sh":         big("./x$(./y "),
		"package.json": `{"scripts": {"test": "` + strings.Repeat("npm run a && ", 5000) + `"}}`,
	} {
		c := New(nil, []string{"make && npm test && ./run.sh && ./a.sh && ./b.sh && ./c.sh"})
		for i := 0; c.Follow(name, []byte(data)); i++ {
			if i > 3 {
				t.Errorf("%s always has new names", name)
				break
			}
		}
		if len(c.uses.files) > maxNames || len(c.uses.globs) > maxGlobs {
			t.Errorf("%s names %d files and %d patterns", name, len(c.uses.files), len(c.uses.globs))
		}
	}
}
