package command

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"pawl/internal/gate/report"
	"pawl/internal/pattern"
)

// noDependencies are what tools print when packages are not in place that the
// project, or the tool, depends on.
var noDependencies = pattern.Of(strings.Join([]string{
	// Node.js, TypeScript, Jest. A path is a file of the project's own.
	`Cannot find (?:module|package) ['"](?:[^'"./][^'"]*|/[^'"]*node_modules/[^'"]*)['"]`,
	`node_modules missing|Couldn't find the node_modules state file|Required package missing from disk`,
	`(?:ENOTFOUND|EAI_AGAIN)\b.{0,20}\bregistry\.`,
	// Go
	`no required module provides package|cannot find module providing package|missing go\.sum entry|module lookup disabled by GOPROXY=off`,
	// Rust
	`can't find crate for|no matching package named .{1,100} found|failed to get .{1,100} as a dependency of|but --offline was specified|Could not resolve host: (?:static|index)\.crates\.io`,
	// Ruby
	`Could not find gem '|Could not find \S+ in (?:any of the sources|locally installed gems)|Bundler::GemNotFound`,
	// Java
	`Could not resolve dependencies for project|or one of its dependencies could not be resolved|Could not resolve all (?:files|dependencies|artifacts|task dependencies) for configuration`,
	// PHP
	`vendor/autoload\.php.{0,40}(?:Failed to open stream|failed to open stream|No such file)|Failed opening required '[^']*vendor/autoload\.php'`,
	// .NET
	`\bNETSDK1004\b|\bNU1(?:100|101|301)\b`,
	// Elixir
	`Unchecked dependencies for environment|the dependency is not available, run "mix deps\.get"`,
}, "|"))

// noNetwork is what programs print that look for the address of a host in vain.
var noNetwork = pattern.Of(`(?:ENOTFOUND|EAI_AGAIN) ([\w-]+\.[\w.-]+)|Could not resolve host: ([\w.-]+)|dial tcp: lookup ([\w-]+\.[\w.-]+)(?: on \S+)?: |host='([\w.-]+)', port=\d+\): Max retries`)

// noPackage is Python's; the module may also be one of the project's own.
var noPackage = pattern.Of(`No module named '?([A-Za-z_]\w*)`)

// installed are programs that a project's own dependencies bring.
var installed = pattern.Of(`(?:^|/)(?:\.venv/bin|node_modules/\.bin|vendor/bin)/`)

// runner is a package manager that runs a program of the project's dependencies,
// and is there itself.
var runner = pattern.Of(`\b(npm|npx|pnpm|yarn|bun|bundle|composer|uv|poetry|pipenv)\b`)

// dependenciesNote returns an addition to the reason of a failure that looks as if
// dependencies were missing. It is never part of the error: two attempts that fail alike must
// compare equal whether or not anything was prepared. F-22
func (j *judgement) dependenciesNote() string {
	host := ""
	if m := noNetwork.FindStringSubmatch(report.Plain(string(j.res.Output))); m != nil {
		host = strings.Trim(cmp.Or(m[1:]...), ".,;:")
	}
	switch {
	case host != "" && (j.req.Prepared || !j.lacksDependencies()):
		return "; it asked for " + cutText(host, maxQuote) + ", and gates have no network"
	case !j.lacksDependencies():
		return ""
	case j.req.Prepared:
		return "; dependencies seem to be missing, though the commands of prepare ran"
	}
	return "; dependencies seem to be missing: no command of prepare has installed them (pawl doctor names some)"
}

func (j *judgement) lacksDependencies() bool {
	switch {
	case j.part != "": // of the machine's
		return false
	case j.res.Missing:
		program := missingProgram(string(j.res.Output), j.req.Spec.Command)
		manager := runner.FindString(j.req.Spec.Command)
		return installed.MatchString(program) || manager != "" && manager != filepath.Base(program)
	}
	output := report.Plain(string(j.res.Output))
	if noDependencies.MatchString(output) {
		return true
	}
	for _, m := range noPackage.FindAllStringSubmatch(output, 20) {
		if !j.isOwnModule(m[1]) {
			return true
		}
	}
	return false
}

// isOwnModule reports whether the checkout has a Python module of this name: what is
// missing then is a part of it.
func (j *judgement) isOwnModule(name string) bool {
	tree, err := j.req.Room.Tree()
	if err != nil {
		return false
	}
	for _, path := range []string{name, name + ".py", "src/" + name, "tests/" + name, "tests/" + name + ".py"} {
		if _, err := os.Lstat(filepath.Join(tree, path)); err == nil {
			return true
		}
	}
	return false
}
