package ecosystem

import (
	"encoding/json"
	"slices"
	"strings"

	"pawl"
)

var (
	npm = ecosystem{
		name: "npm", language: "javascript",
		manifests: []string{"package.json"}, locks: []string{"package-lock.json", "npm-shrinkwrap.json"}, others: []string{".npmrc", "*.patch"},
		is: isManager("npm"), gates: javaScriptGates,
		prepare: func(f folder) []string {
			// Without a lock file nothing says which versions are meant, and one that
			// prepare wrote would be in no commit.
			return javaScriptPrepare(f, f.has("package-lock.json", "npm-shrinkwrap.json"), "npm ci", "npm install --no-package-lock")
		},
		update: func(f folder) string {
			return when(f.has("package-lock.json", "npm-shrinkwrap.json"), "npm install --package-lock-only --ignore-scripts")
		},
		registries: []string{"registry.npmjs.org:443"}, client: (*client).npm,
	}
	pnpm = ecosystem{
		name: "pnpm", language: "javascript",
		manifests: []string{"package.json", "pnpm-workspace.yaml"}, locks: []string{"pnpm-lock.yaml"}, others: []string{".npmrc", ".pnpmfile.cjs", "*.patch"},
		is: isManager("pnpm"), gates: javaScriptGates,
		prepare: func(f folder) []string {
			return javaScriptPrepare(f, f.has("pnpm-lock.yaml"), "pnpm install --frozen-lockfile", "pnpm install --no-lockfile")
		},
		update: func(f folder) string {
			return when(f.has("pnpm-lock.yaml"), "pnpm install --lockfile-only --no-frozen-lockfile --ignore-scripts")
		},
		registries: []string{"registry.npmjs.org:443"}, client: (*client).npm,
	}
	yarn = ecosystem{
		name: "yarn", language: "javascript",
		manifests: []string{"package.json"}, locks: []string{"yarn.lock"}, others: []string{".yarnrc", ".yarnrc.yml", ".npmrc", ".pnp.cjs", "*.patch"},
		is: isManager("yarn"), gates: javaScriptGates,
		prepare: func(f folder) []string {
			if isClassicYarn(f) {
				return javaScriptPrepare(f, f.has("yarn.lock"), "yarn install --frozen-lockfile", "yarn install --no-lockfile")
			}
			return javaScriptPrepare(f, f.has("yarn.lock"), "yarn install --immutable", "yarn install --no-immutable")
		},
		update: func(f folder) string {
			if isClassicYarn(f) { // it has no way to update the lock file alone
				return when(f.has("yarn.lock"), "yarn install --ignore-scripts --non-interactive")
			}
			return when(f.has("yarn.lock"), "yarn install --mode=update-lockfile --no-immutable")
		},
		registries: []string{"registry.yarnpkg.com:443", "registry.npmjs.org:443", "repo.yarnpkg.com:443"}, client: (*client).yarn,
	}
	bun = ecosystem{
		name: "bun", language: "javascript",
		manifests: []string{"package.json"}, locks: []string{"bun.lock", "bun.lockb"}, others: []string{"bunfig.toml", ".npmrc", "*.patch"},
		is: isManager("bun"), gates: javaScriptGates,
		prepare: func(f folder) []string {
			return javaScriptPrepare(f, f.has("bun.lock", "bun.lockb"), "bun install --frozen-lockfile", "bun install --no-save")
		},
		update: func(f folder) string {
			return when(f.has("bun.lock", "bun.lockb"), "bun install --lockfile-only --ignore-scripts")
		},
		registries: []string{"registry.npmjs.org:443"}, client: (*client).npm,
	}
)

// when returns the command if it applies, and otherwise nothing.
func when(applies bool, command string) string {
	if applies {
		return command
	}
	return ""
}

// manifest is what a package.json says.
type manifest struct {
	Scripts    map[string]string `json:"scripts"`
	Dev        map[string]string `json:"devDependencies"`
	Deps       map[string]string `json:"dependencies"`
	Optional   map[string]string `json:"optionalDependencies"`
	Peers      map[string]string `json:"peerDependencies"`
	Workspaces json.RawMessage   `json:"workspaces"`
	Manager    string            `json:"packageManager"`
}

// readManifest reads package.json; a broken one says nothing.
func readManifest(f folder) manifest {
	var m manifest
	if json.Unmarshal([]byte(f.text("package.json")), &m) != nil {
		return manifest{}
	}
	return m
}

func isManager(name string) func(folder) bool {
	return func(f folder) bool { return f.has("package.json") && packageManager(f) == name }
}

// packageManager returns the package manager that package.json names, or whose lock file
// exists.
func packageManager(f folder) string {
	name, _, _ := strings.Cut(readManifest(f).Manager, "@")
	switch {
	case slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, name):
		return name
	case f.has("pnpm-lock.yaml"):
		return "pnpm"
	case f.has("yarn.lock"):
		return "yarn"
	case f.has("bun.lock", "bun.lockb"):
		return "bun"
	}
	return "npm"
}

// isClassicYarn reports whether yarn's version is 1, whose options are others.
func isClassicYarn(f folder) bool {
	if _, version, found := strings.Cut(readManifest(f).Manager, "yarn@"); found {
		return strings.HasPrefix(version, "1.")
	}
	return !f.has(".yarnrc.yml") && !strings.Contains(f.text("yarn.lock"), "\n__metadata:")
}

func javaScriptPrepare(f folder, locked bool, frozen, free string) []string {
	m := readManifest(f)
	switch {
	case len(m.Deps)+len(m.Dev)+len(m.Optional)+len(m.Peers) == 0 && m.Workspaces == nil && !f.has("pnpm-workspace.yaml"):
		return nil
	case locked:
		return []string{frozen}
	}
	return []string{free}
}

func javaScriptGates(f folder) []pawl.GateSpec {
	m := readManifest(f)
	manager := packageManager(f)
	var gates []pawl.GateSpec
	script := func(kind pawl.GateKind, names ...string) bool {
		for _, name := range names {
			if m.Scripts[name] != "" {
				gates = append(gates, pawl.GateSpec{Kind: kind, Command: manager + " run " + name})
				return true
			}
		}
		return false
	}
	script(pawl.GateFormat, "format:check", "check:format", "check-format", "fmt:check", "prettier:check")
	if !script(pawl.GateTypes, "typecheck", "type-check", "types", "check-types", "check:types", "tsc") &&
		f.has("tsconfig.json") && (m.Dev["typescript"] != "" || m.Deps["typescript"] != "") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateTypes, Command: "node_modules/.bin/tsc --noEmit"})
	}
	script(pawl.GateLint, "lint")
	if test := m.Scripts["test"]; strings.TrimSpace(test) != "" && !strings.Contains(test, "no test specified") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: testScript(manager, test)})
	}
	return gates
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
