package ecosystem

import (
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

// makefiles are proposed for what no language covers. They fetch nothing
// themselves.
var makefiles = ecosystem{name: "make", gates: makeGates}

var makeTarget = pattern.Of(`(?m)^([A-Za-z0-9][\w.\-]*(?:[ \t]+[A-Za-z0-9][\w.\-]*)*)[ \t]*::?(?:[^=:]|$)`)

// makeGates proposes a Makefile's targets by their usual names.
func makeGates(f folder) []pawl.GateSpec {
	text := f.text("GNUmakefile") + "\n" + f.text("makefile") + "\n" + f.text("Makefile")
	targets := map[string]bool{}
	for _, m := range makeTarget.FindAllStringSubmatch(text, -1) {
		for _, target := range strings.Fields(m[1]) {
			targets[target] = true
		}
	}
	var gates []pawl.GateSpec
	for _, g := range []struct {
		kind  pawl.GateKind
		names []string
	}{
		{pawl.GateFormat, []string{"fmt-check", "format-check", "check-fmt", "check-format"}},
		{pawl.GateTypes, []string{"typecheck", "type-check", "types", "vet"}},
		{pawl.GateLint, []string{"lint"}},
		{pawl.GateTests, []string{"test", "tests", "check"}},
	} {
		for _, name := range g.names {
			if targets[name] {
				gates = append(gates, pawl.GateSpec{Kind: g.kind, Command: "make " + name})
				break
			}
		}
	}
	return gates
}
