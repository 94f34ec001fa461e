package detect

import (
	"strings"

	"pawl"
)

func isRust(p project) bool { return p.has("Cargo.toml") }

func rustGates(p project) []pawl.GateSpec {
	var gates []pawl.GateSpec
	if p.has("rustfmt.toml", ".rustfmt.toml") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateFormat, Command: "cargo fmt --all --check"})
	}
	gates = append(gates, pawl.GateSpec{Kind: pawl.GateTypes, Command: "cargo check --all-targets"})
	if toml := p.text("Cargo.toml"); p.has("clippy.toml", ".clippy.toml") || section(toml, "lints") || section(toml, "workspace.lints") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateLint, Command: "cargo clippy --all-targets", Optional: true})
	}
	return append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: "cargo test --no-fail-fast"})
}

func isPython(p project) bool {
	return p.has("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "tox.ini")
}

func pythonGates(p project) []pawl.GateSpec {
	pyproject, setup := p.text("pyproject.toml"), p.text("setup.cfg")
	tox := p.text("tox.ini")
	all := strings.Join([]string{pyproject, setup, tox, p.text("setup.py"), p.text("Pipfile"), p.text("requirements.txt"),
		p.text("requirements-dev.txt"), p.text("dev-requirements.txt"), p.text("requirements-test.txt")}, "\n")
	run := ""
	switch {
	case p.has("uv.lock"):
		run = "uv run --no-sync "
	case p.has("poetry.lock"):
		run = "poetry run "
	}
	var gates []pawl.GateSpec
	add := func(kind pawl.GateKind, command string) {
		gates = append(gates, pawl.GateSpec{Kind: kind, Command: run + command, Optional: kind != pawl.GateTests})
	}
	switch {
	case section(pyproject, "tool.black"):
		add(pawl.GateFormat, "black --check .")
	case section(pyproject, "tool.ruff.format"):
		add(pawl.GateFormat, "ruff format --check .")
	}
	switch {
	case section(pyproject, "tool.mypy") || section(setup, "mypy") || p.has("mypy.ini", ".mypy.ini"):
		add(pawl.GateTypes, "mypy .")
	case section(pyproject, "tool.pyright") || p.has("pyrightconfig.json"):
		add(pawl.GateTypes, "pyright")
	}
	switch {
	case section(pyproject, "tool.ruff") || p.has("ruff.toml", ".ruff.toml") || word(all, "ruff"):
		add(pawl.GateLint, "ruff check .")
	case section(setup, "flake8") || section(tox, "flake8") || p.has(".flake8"):
		add(pawl.GateLint, "flake8")
	}
	if g := pythonTests(p, pyproject, setup, all, run); g.Command != "" {
		gates = append(gates, g)
	}
	return gates
}

// pythonTests has pytest write JUnit XML: its text names only the failures.
func pythonTests(p project, pyproject, setup, all, run string) pawl.GateSpec {
	switch {
	case section(pyproject, "tool.pytest") || section(setup, "tool:pytest") || p.has("pytest.ini", "conftest.py", "tests/conftest.py") || word(all, "pytest"):
		const report = ".pawl-pytest.xml"
		return pawl.GateSpec{Kind: pawl.GateTests, Command: run + "python3 -m pytest --junitxml=" + report, Report: pawl.ReportJUnit, File: report}
	case p.any(".", "test_*.py") || p.any("tests", "test_*.py") || p.any("test", "test_*.py"):
		return pawl.GateSpec{Kind: pawl.GateTests, Command: run + "python3 -m unittest discover -v"}
	}
	return pawl.GateSpec{}
}

func isJava(p project) bool {
	return p.has("pom.xml", "build.gradle", "build.gradle.kts")
}

func javaGates(p project) []pawl.GateSpec {
	if p.has("pom.xml") {
		command := "mvn"
		if p.has("mvnw") {
			command = "./mvnw"
		}
		return []pawl.GateSpec{{Kind: pawl.GateTests, Command: command + " --batch-mode test", Report: pawl.ReportJUnit, File: "**/target/surefire-reports/TEST-*.xml"}}
	}
	command := "gradle"
	if p.has("gradlew") {
		command = "./gradlew"
	}
	// A test task that is up to date writes no report.
	return []pawl.GateSpec{{Kind: pawl.GateTests, Command: command + " --no-daemon --rerun-tasks test", Report: pawl.ReportJUnit, File: "**/build/test-results/**/TEST-*.xml"}}
}

func isElixir(p project) bool { return p.has("mix.exs") }

func elixirGates(p project) []pawl.GateSpec {
	var gates []pawl.GateSpec
	if p.has(".formatter.exs") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateFormat, Command: "mix format --check-formatted"})
	}
	if strings.Contains(p.text("mix.exs"), ":credo") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateLint, Command: "mix credo"})
	}
	return append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: "mix test"})
}

func isRuby(p project) bool { return p.has("Gemfile") }

func rubyGates(p project) []pawl.GateSpec {
	gems := p.text("Gemfile") + p.text("Gemfile.lock")
	var gates []pawl.GateSpec
	if p.has(".rubocop.yml") || word(gems, "rubocop") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateLint, Command: "bundle exec rubocop --format emacs", Optional: true})
	}
	switch {
	case p.has(".rspec") || p.hasFolder("spec") && word(gems, "rspec"):
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: "bundle exec rspec"})
	case p.has("bin/rails") && p.hasFolder("test"):
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: "bin/rails test"})
	case p.has("Rakefile"):
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: "bundle exec rake test"})
	}
	return gates
}
