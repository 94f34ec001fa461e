package detect

import "pawl"

func isGo(p project) bool { return p.has("go.mod", "go.work") }

func goGates(p project) []pawl.GateSpec {
	packages := "./..."
	command := func(tool string) string { return tool + " " + packages }
	if !p.has("go.mod") {
		// A workspace whose root is no module: "./..." is nothing there.
		command = func(tool string) string {
			return `modules=$(go list -m -f '{{.Dir}}/...') || exit; echo "$modules" | xargs ` + tool
		}
	}
	// gofmt lists files and ends with 0, so the list decides. Without gofmt the
	// line ends with 127.
	format := `files=$(gofmt -l .) || exit; test -z "$files" || { echo "not formatted:"; echo "$files"; exit 1; }`
	if p.hasFolder("vendor") {
		format = `files=$(find . -name vendor -prune -o -name '*.go' -exec gofmt -l {} +) || exit; test -z "$files" || { echo "not formatted:"; echo "$files"; exit 1; }`
	}
	gates := []pawl.GateSpec{
		{Kind: pawl.GateFormat, Command: format},
		{Kind: pawl.GateTypes, Command: command("go vet")},
	}
	if p.has(".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateLint, Command: command("golangci-lint run"), Optional: true})
	}
	return append(gates,
		pawl.GateSpec{Kind: pawl.GateTests, Command: command("go test -json"), Report: pawl.ReportGoTest},
		pawl.GateSpec{Kind: pawl.GateSecurity, Command: command("govulncheck"), Optional: true})
}
