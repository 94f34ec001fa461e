package evidence

import (
	"slices"
	"testing"

	"pawl"
)

// isLeftOut reports whether a file that is added to a base is not there where the base's expectations are asked.
func isLeftOut(base tree, path string, onBase *pawl.GateReport) bool {
	pass := &pawl.GateReport{Verdict: pawl.VerdictPass, Passed: 1}
	c := between(base, base.with(tree{path: "x = 1\n", "code.sql": "x\n"}))
	c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "./run-tests"}}
	runs := Look(c).Runs(&Reports{Own: map[string]*pawl.GateReport{"tests": pass}, Base: map[string]*pawl.GateReport{"tests": onBase}})
	return len(runs) > 0 && slices.ContainsFunc(runs[0].Files, func(f pawl.ComposedFile) bool { return f.Path == path })
}

// An added file that is found in place of a module that is installed is left out with the base's expectations, whatever
// the language and whoever installs it. F-99
func TestShadows(t *testing.T) {
	base := tree{
		"app.py":             "import yaml\nfrom requests.auth import A\nimport rates, os.path as p\ntry:\n    import fast\nexcept ImportError:\n    fast = None\n\ndef late():\n    import lazy\n",
		"rates.py":           "x = 1\n",
		"tools/gen.py":       "import jinja2\nimport names\n",
		"tools/names.py":     "x = 1\n",
		"tests/test_app.py":  "import responses\nimport app\n",
		"pkg/__init__.py":    "import click\n",
		"lib/shop.rb":        "require 'json'\nrequire 'shop/rates'\nrequire \"bigdecimal/util\"\n",
		"lib/shop/rates.rb":  "x = 1\n",
		"t/shop.t":           "use strict;\nuse Test::More;\nuse Shop;\n",
		"lib/Shop.pm":        "package Shop;\n",
		"spec/a.lua":         "local cjson = require \"cjson\"\nlocal s = require('shop.rates')\n",
		"src/shop/rates.lua": "return 1\n",
		"src/main.c":         "#include <assert.h>\n#include <zlib.h>\n#include <shop/rates.h>\n#include \"own.h\"\n",
		"inc/shop/rates.h":   "int x;\n",
		"web/a.ts":           "import pad from 'left-pad'\nimport x from './b'\n",
		"web/b.ts":           "export default 1\n",
		"vendor/dep/far.py":  "import farlib\n",
	}
	pass := &pawl.GateReport{Verdict: pawl.VerdictPass, Passed: 1}
	missed := &pawl.GateReport{Verdict: pawl.VerdictFail, Output: "ModuleNotFoundError: No module named 'yaml'"}
	for _, tt := range []struct {
		path   string
		onBase *pawl.GateReport
		out    bool
	}{
		{"yaml.py", pass, true},
		{"yaml.py", missed, false},
		{"src/yaml/__init__.py", pass, true},
		{"requests/__init__.py", pass, true},
		{"responses.py", pass, true},
		{"tools/jinja2.py", pass, true},
		{"jinja2.py", pass, true},
		{"click.py", pass, true},
		{"pkg/click.py", pass, false},         // in a package
		{"web/yaml.py", pass, false},          // nobody looks there
		{"names.py", pass, false},             // the base has it
		{"src/rates/__init__.py", pass, true}, // in place of rates.py
		{"fast.py", pass, false},              // it need not be there
		{"lazy.py", pass, false},
		{"farlib.py", pass, false}, // only what is vendored loads it
		{"prices.py", pass, false},
		{"lib/json.rb", pass, true},
		{"lib/bigdecimal/util.rb", pass, true},
		{"lib/prices.rb", pass, false},
		{"shop/rates.rb", pass, false},
		{"lib/Test/More.pm", pass, true},
		{"lib/Shop/More.pm", pass, false},
		{"lib/Shop.pl", pass, false},
		{"cjson.lua", pass, true},
		{"src/cjson/init.lua", pass, true},
		{"shop/rates.lua", pass, false},
		{"src/assert.h", pass, true},
		{"inc/zlib.h", pass, true},
		{"src/prices.h", pass, false},
		{"src/own.h", pass, false},
		{"src/left-pad.ts", pass, false},
	} {
		if got := isLeftOut(base, tt.path, tt.onBase); got != tt.out {
			t.Errorf("%s is left out: %t, want %t (%s)", tt.path, got, tt.out, tt.onBase.Verdict)
		}
	}
	byName := base.with(tree{"tsconfig.json": `{"compilerOptions": {"baseUrl": "./src"}}`})
	for p, want := range map[string]bool{"src/left-pad.ts": true, "src/left-pad/index.ts": true, "src/pad.ts": false, "src/b.ts": false} {
		if got := isLeftOut(byName, p, pass); got != want {
			t.Errorf("%s is left out: %t, want %t", p, got, want)
		}
	}
}

// So is one that a program finds before a file of the base, where the base names it without its extension. F-99
func TestFoundFirst(t *testing.T) {
	base := tree{
		"src/app.js":              "const data = require('./data')\nconst r = require('./rates.json')\nimport x from '../lib/native'\nconst d = require('./table')\n",
		"src/data.json":           "[1]\n",
		"src/rates.json":          "[1]\n",
		"src/table/index.js":      "module.exports = 1\n",
		"lib/native.node":         "x\n",
		"lib/money.ts":            "export const x = 1\n",
		"lib/money.test.ts":       "import { x } from './money'\nimport p from '../package'\n",
		"package.json":            "{}\n",
		"shop/rates.py":           "x = 1\n",
		"shop/__init__.py":        "",
		"shop/tax/__init__.py":    "x = 1\n",
		"test/fixtures/case.json": "{}\n",
	}
	pass := &pawl.GateReport{Verdict: pawl.VerdictPass, Passed: 1}
	for p, want := range map[string]bool{
		"src/data.js":                            true,
		"src/data.ts":                            true,
		"src/data":                               true,
		"src/data/index.js":                      false, // the file is found before the folder
		"src/rates.js":                           false, // the base names it whole
		"src/table.json":                         true,
		"lib/native.js":                          true,
		"lib/native.json":                        true,
		"lib/data.js":                            false,
		"lib/money.js":                           true,
		"lib/money.json":                         false,
		"package.js":                             true,
		"shop/rates/__init__.py":                 true,
		"shop/__pycache__/rates.cpython-312.pyc": true,
		"shop/__pycache__/prices.cpython-312.pyc": false,
		"shop/tax.py":    true,
		"shop/prices.py": false,
	} {
		if got := isLeftOut(base, p, pass); got != want {
			t.Errorf("%s is left out: %t, want %t", p, got, want)
		}
	}
}
