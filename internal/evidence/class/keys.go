package class

import (
	"slices"
	"strings"

	"pawl"
)

// keyRule gives a key of a file with two jobs, and all that is below it, a class. A star stands
// for any one key. The first rule that fits decides; what none fits is code.
type keyRule struct {
	key   string
	class pawl.PathClass
}

var packageKeys = []keyRule{
	{"scripts", pawl.ClassGateInput},
	{"jest", pawl.ClassGateInput},
	{"vitest", pawl.ClassGateInput},
	{"mocha", pawl.ClassGateInput},
	{"ava", pawl.ClassGateInput},
	{"tap", pawl.ClassGateInput},
	{"jasmine", pawl.ClassGateInput},
	{"c8", pawl.ClassGateInput},
	{"nyc", pawl.ClassGateInput},
	{"tsd", pawl.ClassGateInput},
	{"babel", pawl.ClassGateInput},
	{"eslintConfig", pawl.ClassGateInput},
	{"eslintIgnore", pawl.ClassGateInput},
	{"prettier", pawl.ClassGateInput},
	{"stylelint", pawl.ClassGateInput},
	{"standard", pawl.ClassGateInput},
	{"xo", pawl.ClassGateInput},
	{"size-limit", pawl.ClassGateInput},
	{"knip", pawl.ClassGateInput},
	{"wireit", pawl.ClassGateInput},
	{"nx", pawl.ClassGateInput},
	{"husky", pawl.ClassPolicy},
	{"lint-staged", pawl.ClassPolicy},
	{"simple-git-hooks", pawl.ClassPolicy},
	{"pre-commit", pawl.ClassPolicy},
	{"dependencies", pawl.ClassDependency},
	{"devDependencies", pawl.ClassDependency},
	{"peerDependencies", pawl.ClassDependency},
	{"peerDependenciesMeta", pawl.ClassDependency},
	{"optionalDependencies", pawl.ClassDependency},
	{"dependenciesMeta", pawl.ClassDependency},
	{"bundleDependencies", pawl.ClassDependency},
	{"bundledDependencies", pawl.ClassDependency},
	{"overrides", pawl.ClassDependency},
	{"resolutions", pawl.ClassDependency},
	{"patchedDependencies", pawl.ClassDependency},
	{"trustedDependencies", pawl.ClassDependency},
	{"catalog", pawl.ClassDependency},
	{"catalogs", pawl.ClassDependency},
	{"engines", pawl.ClassDependency},
	{"devEngines", pawl.ClassDependency},
	{"packageManager", pawl.ClassDependency},
	{"volta", pawl.ClassDependency},
	{"pnpm", pawl.ClassDependency},
	// Packages link each other through it. Tests of a package that is no longer in it are
	// missing in the report.
	{"workspaces", pawl.ClassDependency},
}

var composerKeys = []keyRule{
	{"scripts", pawl.ClassGateInput},
	{"autoload-dev", pawl.ClassGateInput},
	{"require", pawl.ClassDependency},
	{"require-dev", pawl.ClassDependency},
	{"conflict", pawl.ClassDependency},
	{"replace", pawl.ClassDependency},
	{"provide", pawl.ClassDependency},
	{"repositories", pawl.ClassDependency},
	{"minimum-stability", pawl.ClassDependency},
	{"prefer-stable", pawl.ClassDependency},
	{"config", pawl.ClassDependency},
	{"extra", pawl.ClassDependency},
}

var pyprojectKeys = []keyRule{
	{"tool.pytest", pawl.ClassGateInput},
	{"tool.pytest-enabler", pawl.ClassGateInput},
	{"tool.coverage", pawl.ClassGateInput},
	{"tool.tox", pawl.ClassGateInput},
	{"tool.nox", pawl.ClassGateInput},
	{"tool.ruff", pawl.ClassGateInput},
	{"tool.mypy", pawl.ClassGateInput},
	{"tool.pyright", pawl.ClassGateInput},
	{"tool.basedpyright", pawl.ClassGateInput},
	{"tool.pyrefly", pawl.ClassGateInput},
	{"tool.ty", pawl.ClassGateInput},
	{"tool.pytype", pawl.ClassGateInput},
	{"tool.black", pawl.ClassGateInput},
	{"tool.isort", pawl.ClassGateInput},
	{"tool.flake8", pawl.ClassGateInput},
	{"tool.pylint", pawl.ClassGateInput},
	{"tool.pydocstyle", pawl.ClassGateInput},
	{"tool.pycodestyle", pawl.ClassGateInput},
	{"tool.yapf", pawl.ClassGateInput},
	{"tool.autopep8", pawl.ClassGateInput},
	{"tool.bandit", pawl.ClassGateInput},
	{"tool.vulture", pawl.ClassGateInput},
	{"tool.interrogate", pawl.ClassGateInput},
	{"tool.codespell", pawl.ClassGateInput},
	{"tool.typos", pawl.ClassGateInput},
	{"tool.importlinter", pawl.ClassGateInput},
	{"tool.deptry", pawl.ClassGateInput},
	{"tool.behave", pawl.ClassGateInput},
	{"tool.hypothesis", pawl.ClassGateInput},
	{"tool.mutmut", pawl.ClassGateInput},
	{"tool.inline-snapshot", pawl.ClassGateInput},
	{"tool.cibuildwheel", pawl.ClassGateInput},
	{"tool.hatch.envs", pawl.ClassGateInput},
	{"tool.poe", pawl.ClassGateInput},
	{"tool.taskipy", pawl.ClassGateInput},
	{"tool.pdm.scripts", pawl.ClassGateInput},
	{"tool.rye.scripts", pawl.ClassGateInput},
	{"tool.pixi.tasks", pawl.ClassGateInput},
	{"tool.pixi.feature.*.tasks", pawl.ClassGateInput},
	{"project.entry-points.pytest11", pawl.ClassGateInput}, // loads a plugin into pytest
	{"tool.poetry.plugins.pytest11", pawl.ClassGateInput},
	{"build-system", pawl.ClassDependency},
	{"dependency-groups", pawl.ClassDependency},
	{"project.dependencies", pawl.ClassDependency},
	{"project.optional-dependencies", pawl.ClassDependency},
	{"project.requires-python", pawl.ClassDependency},
	{"tool.poetry.dependencies", pawl.ClassDependency},
	{"tool.poetry.dev-dependencies", pawl.ClassDependency},
	{"tool.poetry.group", pawl.ClassDependency},
	{"tool.poetry.extras", pawl.ClassDependency},
	{"tool.poetry.source", pawl.ClassDependency},
	{"tool.pdm.dev-dependencies", pawl.ClassDependency},
	{"tool.pdm.source", pawl.ClassDependency},
	{"tool.rye.dev-dependencies", pawl.ClassDependency},
	{"tool.pixi", pawl.ClassDependency},
	{"tool.uv", pawl.ClassDependency},
}

var cargoKeys = []keyRule{
	{"test", pawl.ClassGateInput},
	{"bench", pawl.ClassGateInput},
	{"lib.test", pawl.ClassGateInput},
	{"lib.doctest", pawl.ClassGateInput},
	{"lib.harness", pawl.ClassGateInput},
	{"bin.test", pawl.ClassGateInput},
	{"bin.harness", pawl.ClassGateInput},
	{"example.test", pawl.ClassGateInput},
	{"example.harness", pawl.ClassGateInput},
	{"package.autotests", pawl.ClassGateInput},
	{"package.build", pawl.ClassGateInput},
	{"package.workspace", pawl.ClassGateInput},
	{"profile", pawl.ClassGateInput}, // tests inherit from dev: debug-assertions, overflow-checks
	{"lints", pawl.ClassGateInput},
	{"workspace.lints", pawl.ClassGateInput},
	// A member that is taken out is no longer tested. Crates need no member to use each other.
	{"workspace.members", pawl.ClassGateInput},
	{"workspace.default-members", pawl.ClassGateInput},
	{"workspace.exclude", pawl.ClassGateInput},
	{"workspace.dependencies", pawl.ClassDependency},
	{"workspace.resolver", pawl.ClassDependency},
	{"dependencies", pawl.ClassDependency},
	{"dev-dependencies", pawl.ClassDependency},
	{"dev_dependencies", pawl.ClassDependency},
	{"build-dependencies", pawl.ClassDependency},
	{"build_dependencies", pawl.ClassDependency},
	{"target.*.dependencies", pawl.ClassDependency},
	{"target.*.dev-dependencies", pawl.ClassDependency},
	{"target.*.build-dependencies", pawl.ClassDependency},
	{"patch", pawl.ClassDependency},
	{"replace", pawl.ClassDependency},
	{"package.rust-version", pawl.ClassDependency},
	{"package.resolver", pawl.ClassDependency},
}

var cargoConfigKeys = []keyRule{
	{"source", pawl.ClassDependency},
	{"registries", pawl.ClassDependency},
	{"registry", pawl.ClassDependency},
	{"net", pawl.ClassDependency},
	{"http", pawl.ClassDependency},
	{"patch", pawl.ClassDependency},
	{"paths", pawl.ClassDependency},
	{"*", pawl.ClassGateInput}, // runners, flags, aliases, environment
}

var setupKeys = []keyRule{
	{"tool:pytest", pawl.ClassGateInput},
	{"pytest", pawl.ClassGateInput},
	{"aliases", pawl.ClassGateInput},
	{"test", pawl.ClassGateInput},
	{"tox", pawl.ClassGateInput},
	{"tox:tox", pawl.ClassGateInput},
	{"nosetests", pawl.ClassGateInput},
	{"coverage:*", pawl.ClassGateInput},
	{"flake8", pawl.ClassGateInput},
	{"flake8:*", pawl.ClassGateInput},
	{"mypy", pawl.ClassGateInput},
	{"mypy-*", pawl.ClassGateInput},
	{"isort", pawl.ClassGateInput},
	{"tool:isort", pawl.ClassGateInput},
	{"pylint*", pawl.ClassGateInput},
	{"pycodestyle", pawl.ClassGateInput},
	{"pydocstyle", pawl.ClassGateInput},
	{"pep8", pawl.ClassGateInput},
	{"yapf", pawl.ClassGateInput},
	{"behave", pawl.ClassGateInput},
	{"bandit", pawl.ClassGateInput},
	{"codespell", pawl.ClassGateInput},
	{"importlinter*", pawl.ClassGateInput},
	{"options.entry_points.pytest11", pawl.ClassGateInput},
	{"options.install_requires", pawl.ClassDependency},
	{"options.setup_requires", pawl.ClassDependency},
	{"options.tests_require", pawl.ClassDependency},
	{"options.python_requires", pawl.ClassDependency},
	{"options.dependency_links", pawl.ClassDependency},
	{"options.extras_require", pawl.ClassDependency},
}

// pomKeys hold for profiles too. Plugins go by their names: see [pomPlugins].
var pomKeys = []keyRule{
	{"project.dependencies", pawl.ClassDependency},
	{"project.dependencyManagement", pawl.ClassDependency},
	{"project.repositories", pawl.ClassDependency},
	{"project.pluginRepositories", pawl.ClassDependency},
	{"project.parent", pawl.ClassDependency},
	{"project.modules", pawl.ClassDependency}, // modules use each other through it
	{"project.properties.skipTests", pawl.ClassGateInput},
	{"project.properties.skipITs", pawl.ClassGateInput},
	{"project.properties.skipUTs", pawl.ClassGateInput},
	{"project.properties.skipUnitTests", pawl.ClassGateInput},
	{"project.properties.skipIntegrationTests", pawl.ClassGateInput},
	{"project.properties.maven.test.*", pawl.ClassGateInput},
	{"project.properties.surefire*", pawl.ClassGateInput},
	{"project.properties.failsafe*", pawl.ClassGateInput},
	{"project.properties.failIfNo*", pawl.ClassGateInput},
	{"project.properties.test", pawl.ClassGateInput},
	{"project.properties.it.test", pawl.ClassGateInput},
	{"project.properties.groups", pawl.ClassGateInput},
	{"project.properties.excludedGroups", pawl.ClassGateInput},
	{"project.properties.argLine", pawl.ClassGateInput},
	{"project.properties.enableAssertions", pawl.ClassGateInput},
	{"project.properties.testFailureIgnore", pawl.ClassGateInput},
	{"project.properties.jacoco*", pawl.ClassGateInput},
	{"project.properties.checkstyle*", pawl.ClassGateInput},
	{"project.properties.pmd*", pawl.ClassGateInput},
	{"project.properties.spotbugs*", pawl.ClassGateInput},
	{"project.properties.*.version", pawl.ClassDependency},
	{"project.build.testSourceDirectory", pawl.ClassGateInput},
	{"project.build.testOutputDirectory", pawl.ClassGateInput},
	{"project.build.testResources", pawl.ClassGateInput},
	{"project.build.plugins.plugin.test", pawl.ClassGateInput},
	{"project.build.pluginManagement.plugins.plugin.test", pawl.ClassGateInput},
}

// pomPlugins are parts of the names of plugins that judge.
var pomPlugins = []string{"surefire", "failsafe", "jacoco", "checkstyle", "pmd", "spotbugs", "findbugs", "spotless", "pitest", "enforcer", "animal-sniffer", "cobertura", "errorprone", "gmavenplus"}

var projectKeys = []keyRule{
	{"Project.ItemGroup.PackageReference", pawl.ClassDependency},
	{"Project.ItemGroup.ProjectReference", pawl.ClassDependency},
	{"Project.ItemGroup.PackageVersion", pawl.ClassDependency},
	{"Project.ItemGroup.Reference", pawl.ClassDependency},
	{"Project.ItemGroup.FrameworkReference", pawl.ClassDependency},
	{"Project.ItemGroup.Analyzer", pawl.ClassGateInput},
	{"Project.ItemGroup.AdditionalFiles", pawl.ClassGateInput},
	{"Project.PropertyGroup.TargetFramework*", pawl.ClassDependency},
	{"Project.PropertyGroup.IsTestProject", pawl.ClassGateInput},
	{"Project.PropertyGroup.TreatWarningsAsErrors", pawl.ClassGateInput},
	{"Project.PropertyGroup.WarningsAsErrors", pawl.ClassGateInput},
	{"Project.PropertyGroup.WarningsNotAsErrors", pawl.ClassGateInput},
	{"Project.PropertyGroup.WarningLevel", pawl.ClassGateInput},
	{"Project.PropertyGroup.NoWarn", pawl.ClassGateInput},
	{"Project.PropertyGroup.Nullable", pawl.ClassGateInput},
	{"Project.PropertyGroup.Analysis*", pawl.ClassGateInput},
	{"Project.PropertyGroup.EnforceCodeStyleInBuild", pawl.ClassGateInput},
	{"Project.PropertyGroup.RunAnalyzers*", pawl.ClassGateInput},
	{"Project.PropertyGroup.CodeAnalysis*", pawl.ClassGateInput},
	{"Project.PropertyGroup.VSTest*", pawl.ClassGateInput},
	{"Project.PropertyGroup.RunSettings*", pawl.ClassGateInput},
	{"Project.PropertyGroup.TestingPlatform*", pawl.ClassGateInput},
	{"Project.PropertyGroup.CollectCoverage", pawl.ClassGateInput},
	{"Project.PropertyGroup.Threshold*", pawl.ClassGateInput},
	{"Project.Target", pawl.ClassGateInput},
	{"Project.Import", pawl.ClassGateInput},
}

// keyRules are rules with their keys in parts.
type keyRules []parsedKey

type parsedKey struct {
	parts []string
	class pawl.PathClass
}

func parseKeyRules(rules []keyRule) keyRules {
	parsed := make(keyRules, len(rules))
	for i, r := range rules {
		parsed[i] = parsedKey{strings.Split(r.key, "."), r.class}
	}
	return parsed
}

// class returns what the rules say of a key, or "".
func (k keyRules) class(key []string) pawl.PathClass {
	for _, r := range k {
		if len(key) >= len(r.parts) && fits(r.parts, key[:len(r.parts)]) {
			return r.class
		}
	}
	return ""
}

// reaches reports whether a rule is about something below a key.
func (k keyRules) reaches(key []string) bool {
	return slices.ContainsFunc(k, func(r parsedKey) bool { return len(key) < len(r.parts) && fits(r.parts[:len(key)], key) })
}

func fits(pattern, key []string) bool {
	for i, p := range pattern {
		before, after, star := strings.Cut(p, "*")
		if p != key[i] && !(star && affix{before, after}.matches(key[i])) {
			return false
		}
	}
	return true
}
