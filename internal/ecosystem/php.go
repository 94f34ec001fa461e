package ecosystem

import (
	"encoding/json"

	"pawl"
)

var composer = ecosystem{
	name: "composer", language: "php",
	manifests: []string{"composer.json"}, locks: []string{"composer.lock"},
	is:    func(f folder) bool { return f.has("composer.json") },
	gates: phpGates,
	prepare: func(f folder) []string {
		if m := readComposer(f); len(m.Require)+len(m.Dev) == 0 {
			return nil
		}
		return []string{"composer install --no-interaction"}
	},
	update: func(f folder) string {
		return when(f.has("composer.lock"), "composer update --no-install --no-scripts --no-plugins --no-interaction --minimal-changes")
	},
	// Packages are archives that GitHub makes.
	registries: []string{"repo.packagist.org:443", "packagist.org:443", "api.github.com:443", "codeload.github.com:443"},
	client:     (*client).composer,
}

type composerJSON struct {
	Require map[string]string          `json:"require"`
	Dev     map[string]string          `json:"require-dev"`
	Scripts map[string]json.RawMessage `json:"scripts"`
}

// readComposer reads composer.json; a broken one says nothing.
func readComposer(f folder) composerJSON {
	var m composerJSON
	if json.Unmarshal([]byte(f.text("composer.json")), &m) != nil {
		return composerJSON{}
	}
	return m
}

func phpGates(f folder) []pawl.GateSpec {
	m := readComposer(f)
	var gates []pawl.GateSpec
	if f.has("phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon") {
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateTypes, Command: "vendor/bin/phpstan analyse --no-progress", Optional: true})
	}
	switch {
	case f.has("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"):
		const report = ".pawl-phpunit.xml"
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: "vendor/bin/phpunit --log-junit " + report, Report: pawl.ReportJUnit, File: report})
	case m.Scripts["test"] != nil:
		gates = append(gates, pawl.GateSpec{Kind: pawl.GateTests, Command: "composer run-script test"})
	}
	return gates
}
