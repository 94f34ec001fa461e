package ecosystem

import (
	"strings"

	"pawl"
	"pawl/internal/pattern"
)

var cargo = ecosystem{
	name: "cargo", language: "rust",
	manifests: []string{"Cargo.toml"}, locks: []string{"Cargo.lock"},
	is:    func(f folder) bool { return f.has("Cargo.toml") },
	gates: rustGates,
	prepare: func(f folder) []string {
		switch lock := f.text("Cargo.lock"); {
		case f.hasFolder("vendor") && strings.Contains(f.text(".cargo/config.toml"), "replace-with"):
			return nil
		case strings.Contains(lock, "\nsource = "):
			return []string{"cargo fetch --locked"}
		case lock == "" && rustDependencies.MatchString(f.text("Cargo.toml")):
			return []string{"cargo fetch"}
		}
		return nil
	},
	// Only what the manifests add is added: cargo generate-lockfile would renew everything.
	update:     func(f folder) string { return when(f.has("Cargo.lock"), "cargo update --workspace") },
	registries: []string{"index.crates.io:443", "static.crates.io:443"}, client: (*client).cargo,
}

var rustDependencies = pattern.Of(`(?m)^\s*\[(?:workspace\.|target\..*\.)?(?:dev-|build-)?dependencies[.\]]|^\s*members\s*=`)

func rustGates(f folder) []pawl.GateSpec {
	var gates []pawl.GateSpec
	if f.has("rustfmt.toml", ".rustfmt.toml") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateFormat, Command: "cargo fmt --all --check"})
	}
	gates = append(gates, pawl.GateSpec{Kind: pawl.GateTypes, Command: "cargo check --all-targets"})
	if toml := f.text("Cargo.toml"); f.has("clippy.toml", ".clippy.toml") || section(toml, "lints") || section(toml, "workspace.lints") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateLint, Command: "cargo clippy --all-targets", Optional: true})
	}
	return append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: "cargo test --no-fail-fast"})
}
