package ecosystem

import (
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

var (
	uv = ecosystem{
		name: "uv", language: "python",
		manifests: []string{"pyproject.toml"}, locks: []string{"uv.lock"}, others: []string{"uv.toml"},
		is: func(f folder) bool { return f.has("uv.lock") && f.has("pyproject.toml") },
		gates: func(f folder) []pawl.GateSpec {
			return pythonGates(f, "uv run --no-sync python3", func(string) string { return "uv run --no-sync " })
		},
		prepare: func(f folder) []string {
			if section(f.text("pyproject.toml"), "project.optional-dependencies") {
				return []string{"uv sync --frozen --all-extras"} // the tests' are often among them
			}
			return []string{"uv sync --frozen"}
		},
		update:     func(folder) string { return "uv lock" },
		registries: pypi, client: (*client).uv,
	}
	poetry = ecosystem{
		name: "poetry", language: "python",
		manifests: []string{"pyproject.toml"}, locks: []string{"poetry.lock"}, others: []string{"poetry.toml"},
		is: func(f folder) bool {
			return f.has("pyproject.toml") && (f.has("poetry.lock") || section(f.text("pyproject.toml"), "tool.poetry"))
		},
		gates: func(f folder) []pawl.GateSpec {
			return pythonGates(f, "poetry run python3", func(string) string { return "poetry run " })
		},
		prepare: func(folder) []string {
			return []string{"POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction"}
		},
		update:     func(f folder) string { return when(f.has("poetry.lock"), "poetry lock --no-interaction") },
		registries: pypi, client: (*client).pip,
	}
	pipenv = ecosystem{
		name: "pipenv", language: "python",
		manifests: []string{"Pipfile"}, locks: []string{"Pipfile.lock"},
		is: func(f folder) bool { return f.has("Pipfile") },
		gates: func(f folder) []pawl.GateSpec {
			return pythonGates(f, "pipenv run python3", func(string) string { return "pipenv run " })
		},
		prepare: func(f folder) []string {
			if f.has("Pipfile.lock") {
				return []string{"PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev"}
			}
			return []string{"PIPENV_VENV_IN_PROJECT=1 pipenv install --dev --skip-lock"}
		},
		update:     func(f folder) string { return when(f.has("Pipfile.lock"), "pipenv lock") },
		registries: pypi, client: (*client).pip,
	}
	pip = ecosystem{
		name: "pip", language: "python",
		manifests: []string{"pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "*requirements.txt", "requirements*.in", "constraints*.txt"},
		others:    []string{"pip.conf", "tox.ini", "MANIFEST.in"},
		is: func(f folder) bool {
			return f.has("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini")
		},
		gates:      pipGates,
		prepare:    pipPrepare,
		registries: pypi, client: (*client).pip,
	}
)

var pypi = []string{"pypi.org:443", "files.pythonhosted.org:443"}

// requirementFiles are what pip installs for the tests.
var requirementFiles = []string{"requirements.txt", "requirements-dev.txt", "dev-requirements.txt", "requirements_dev.txt",
	"requirements-test.txt", "test-requirements.txt", "requirements_test.txt"}

// pipPrepare installs into a virtual environment in the work tree: the home of
// the room is not the one that gates see, and a shared Python may be read-only.
func pipPrepare(f folder) []string {
	install, declared := "", ""
	for _, name := range requirementFiles {
		if text := f.text(name); text != "" {
			install += " -r " + name
			declared += text + "\n"
		}
	}
	pyproject := f.text("pyproject.toml")
	switch {
	case install != "":
	case needsInstall(f):
		install = " -e ."
		for _, extra := range []string{"dev", "test", "tests"} {
			if hasExtra(pyproject, extra) {
				install = " -e '.[" + extra + "]'"
				break
			}
		}
	default:
		return nil
	}
	if usesPytest(f) && !word(declared, "pytest") {
		install += " pytest"
	}
	return []string{"python3 -m venv .venv && .venv/bin/pip install" + install}
}

var pythonDependencies = pattern.Of(`(?m)^\s*(?:optional-)?dependencies\s*=|install_requires|extras_require|^\s*\[project\.optional-dependencies\]`)

// needsInstall reports whether a package has dependencies, or is not found by
// tests unless it is installed.
func needsInstall(f folder) bool {
	pyproject := f.text("pyproject.toml")
	if !section(pyproject, "project") && !section(pyproject, "build-system") && !f.has("setup.py") {
		return false
	}
	return f.hasFolder("src") || pythonDependencies.MatchString(pyproject+"\n"+f.text("setup.py")+"\n"+f.text("setup.cfg"))
}

// hasExtra reports whether a project has optional dependencies of a name.
func hasExtra(pyproject, name string) bool {
	_, rest, _ := strings.Cut(pyproject, "[project.optional-dependencies]")
	rest, _, _ = strings.Cut(rest, "\n[")
	for line := range strings.Lines(rest) {
		if key, _, found := strings.Cut(line, "="); found && strings.Trim(key, " \t\"'") == name {
			return true
		}
	}
	return false
}

// pipGates run in the virtual environment that prepare makes. Tools that the
// project does not declare are looked for on PATH.
func pipGates(f folder) []pawl.GateSpec {
	if pipPrepare(f) == nil {
		return pythonGates(f, "python3", func(string) string { return "" })
	}
	all := tables.ReplaceAllString(pythonTexts(f), "") // a tool's settings do not declare it
	return pythonGates(f, ".venv/bin/python", func(tool string) string {
		if word(all, tool) {
			return ".venv/bin/"
		}
		return ""
	})
}

var tables = pattern.Of(`(?m)^\s*\[.*\]\s*$`)

// pythonTexts returns the contents of the files that name a project's test tools.
func pythonTexts(f folder) string {
	var all []string
	for _, name := range append([]string{"pyproject.toml", "setup.cfg", "tox.ini", "setup.py", "Pipfile"}, requirementFiles...) {
		all = append(all, f.text(name))
	}
	return strings.Join(all, "\n")
}

// pythonGates returns the gates of a project whose Python is started by one command and whose
// tools have a prefix, such as "uv run ".
func pythonGates(f folder, python string, prefix func(tool string) string) []pawl.GateSpec {
	pyproject, setup, tox := f.text("pyproject.toml"), f.text("setup.cfg"), f.text("tox.ini")
	all := pythonTexts(f)
	var gates []pawl.GateSpec
	add := func(kind pawl.GateKind, tool, arguments string) {
		gates = append(gates, pawl.GateSpec{Kind: kind, Command: prefix(tool) + tool + arguments, Optional: true})
	}
	switch {
	case section(pyproject, "tool.black"):
		add(pawl.GateFormat, "black", " --check .")
	case section(pyproject, "tool.ruff.format"):
		add(pawl.GateFormat, "ruff", " format --check .")
	}
	switch {
	case section(pyproject, "tool.mypy") || section(setup, "mypy") || f.has("mypy.ini", ".mypy.ini"):
		add(pawl.GateTypes, "mypy", " .")
	case section(pyproject, "tool.pyright") || f.has("pyrightconfig.json"):
		add(pawl.GateTypes, "pyright", "")
	}
	switch {
	case section(pyproject, "tool.ruff") || f.has("ruff.toml", ".ruff.toml") || word(all, "ruff"):
		add(pawl.GateLint, "ruff", " check .")
	case section(setup, "flake8") || section(tox, "flake8") || f.has(".flake8"):
		add(pawl.GateLint, "flake8", " --extend-exclude .venv")
	}
	if g := pythonTests(f, python); g.Command != "" {
		gates = append(gates, g)
	}
	return gates
}

// pythonTests has pytest write JUnit XML: its text names only the failures. For
// the same reason unittest is told to be verbose.
func pythonTests(f folder, python string) pawl.GateSpec {
	switch {
	case usesPytest(f):
		const report = ".pawl-pytest.xml"
		return pawl.GateSpec{Kind: pawl.GateTests, Command: python + " -m pytest --junitxml=" + report, Report: pawl.ReportJUnit, File: report}
	case f.any(".", "test_*.py"):
		return pawl.GateSpec{Kind: pawl.GateTests, Command: python + " -m unittest discover -v"}
	}
	for _, name := range []string{"tests", "test"} {
		if f.any(name, "test_*.py") {
			command := python + " -m unittest discover -v"
			if !f.has(name + "/__init__.py") { // discover does not look into folders that are no packages
				command += " -s " + name
			}
			return pawl.GateSpec{Kind: pawl.GateTests, Command: command}
		}
	}
	return pawl.GateSpec{}
}

func usesPytest(f folder) bool {
	return section(f.text("pyproject.toml"), "tool.pytest") || section(f.text("setup.cfg"), "tool:pytest") ||
		f.has("pytest.ini", "conftest.py", "tests/conftest.py") || word(pythonTexts(f), "pytest")
}
