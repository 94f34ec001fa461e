package detect

import (
	"encoding/json"
	"strings"

	"pawl"
)

// manifest is what a package.json says about checks.
type manifest struct {
	Scripts map[string]string `json:"scripts"`
	Dev     map[string]string `json:"devDependencies"`
	Deps    map[string]string `json:"dependencies"`
}

func isJavaScript(p project) bool { return p.has("package.json") }

func javaScriptGates(p project) []pawl.GateSpec {
	var m manifest
	if json.Unmarshal([]byte(p.text("package.json")), &m) != nil {
		return nil
	}
	var gates []pawl.GateSpec
	script := func(kind pawl.GateKind, names ...string) bool {
		for _, name := range names {
			if m.Scripts[name] != "" {
				gates = append(gates, pawl.GateSpec{Kind: kind, Command: packageManager(p) + " run " + name})
				return true
			}
		}
		return false
	}
	script(pawl.GateFormat, "format:check", "check:format", "check-format", "fmt:check", "prettier:check")
	if !script(pawl.GateTypes, "typecheck", "type-check", "types", "check-types", "check:types", "tsc") &&
		p.has("tsconfig.json") && (m.Dev["typescript"] != "" || m.Deps["typescript"] != "") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateTypes, Command: "node_modules/.bin/tsc --noEmit"})
	}
	script(pawl.GateLint, "lint")
	if test := m.Scripts["test"]; test != "" && !strings.Contains(test, "no test specified") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: testScript(packageManager(p), test)})
	}
	return gates
}

func packageManager(p project) string {
	switch {
	case p.has("pnpm-lock.yaml"):
		return "pnpm"
	case p.has("yarn.lock"):
		return "yarn"
	case p.has("bun.lock", "bun.lockb"):
		return "bun"
	}
	return "npm"
}

// testScript runs the test script so that it names the tests that pass, where
// the runner can be told to: their names are what is compared with the base.
func testScript(manager, script string) string {
	more := ""
	switch runner := strings.Fields(script); {
	case strings.ContainsAny(script, "|&;"):
	case runner[0] == "jest":
		more = "--verbose"
	case runner[0] == "vitest":
		more = "--reporter=verbose"
	}
	command := manager + " run test"
	switch {
	case more == "":
		return command
	case manager == "npm":
		return command + " -- " + more
	}
	return command + " " + more
}
