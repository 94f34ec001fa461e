package ecosystem

import (
	"pawl"
	"pawl/internal/pattern"
)

// goModules are Go modules and workspaces of them.
var goModules = ecosystem{
	name: "go", language: "go",
	manifests: []string{"go.mod", "go.work"},
	// The go command keeps requirements that follow from others in go.mod.
	locks:      []string{"go.sum", "go.work.sum", "go.mod"},
	is:         func(f folder) bool { return f.has("go.mod", "go.work") },
	gates:      goGates,
	prepare:    goPrepare,
	update:     goUpdate,
	registries: []string{"proxy.golang.org:443", "sum.golang.org:443"},
	client:     (*client).golang,
}

func goGates(f folder) []pawl.GateSpec {
	packages := "./..."
	command := func(tool string) string { return tool + " " + packages }
	if !f.has("go.mod") {
		// A workspace whose root is no module: "./..." is nothing there.
		command = func(tool string) string {
			return `modules=$(go list -m -f '{{.Dir}}/...') || exit; echo "$modules" | xargs ` + tool
		}
	}
	// gofmt lists files and ends with 0, so the list decides. Without gofmt the
	// line ends with 127.
	format := `files=$(gofmt -l .) || exit; test -z "$files" || { echo "not formatted:"; echo "$files"; exit 1; }`
	if f.hasFolder("vendor") {
		format = `files=$(find . -name vendor -prune -o -name '*.go' -exec gofmt -l {} +) || exit; test -z "$files" || { echo "not formatted:"; echo "$files"; exit 1; }`
	}
	gates := []pawl.GateSpec{
		{Kind: pawl.GateFormat, Command: format},
		{Kind: pawl.GateTypes, Command: command("go vet")},
	}
	if f.has(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateLint, Command: command("golangci-lint run"), Optional: true})
	}
	return append(gates,
		pawl.GateSpec{Kind: pawl.GateTests, Command: command("go test -json"), Report: pawl.ReportGoTest},
		pawl.GateSpec{Kind: pawl.GateSecurity, Command: command("govulncheck"), Optional: true})
}

var goRequire = pattern.Of(`(?m)^\s*require\b`)

// goPrepare downloads the modules, unless none is required or all are vendored. A
// workspace is taken to require some.
func goPrepare(f folder) []string {
	if f.has("vendor/modules.txt") || !f.has("go.work") && !goRequire.MatchString(f.text("go.mod")) {
		return nil
	}
	return []string{"go mod download"}
}

// goUpdate keeps the requirements that no package imports as yet, which go mod
// tidy would remove: the import may be written after the requirement.
func goUpdate(f folder) string {
	switch {
	case f.has("vendor/modules.txt"):
		return "" // what is vendored is part of the commit
	case !f.has("go.mod"):
		return "go work sync"
	}
	return "go get -t ./... && go mod download all"
}
