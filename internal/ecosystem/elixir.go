package ecosystem

import (
	"strings"

	"pawl"
)

var mix = ecosystem{
	name: "mix", language: "elixir",
	manifests: []string{"mix.exs"}, locks: []string{"mix.lock"},
	is:    func(f folder) bool { return f.has("mix.exs") },
	gates: elixirGates,
	prepare: func(f folder) []string {
		const tools = "mix local.hex --force --if-missing && mix local.rebar --force --if-missing && "
		if f.has("mix.lock") {
			return []string{tools + "mix deps.get --check-locked"}
		}
		if strings.Contains(f.text("mix.exs"), "{:") {
			return []string{tools + "mix deps.get"}
		}
		return nil
	},
	update:     func(f folder) string { return when(f.has("mix.lock"), "mix deps.get") },
	registries: []string{"hex.pm:443", "repo.hex.pm:443", "builds.hex.pm:443"},
}

func elixirGates(f folder) []pawl.GateSpec {
	var gates []pawl.GateSpec
	if f.has(".formatter.exs") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateFormat, Command: "mix format --check-formatted"})
	}
	if strings.Contains(f.text("mix.exs"), ":credo") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateLint, Command: "mix credo"})
	}
	return append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: "mix test"})
}
