package evidence

import (
	"slices"
	"testing"

	"pawl"
)

// What tests of a shell load to compare is put back with them, and what they are handed; the code that they load
// stays, and so does a library that code loads too. F-98
func TestLoadedLibraries(t *testing.T) {
	const assert = "assert_eq() { [ \"$1\" = \"$2\" ] || { echo FAIL; exit 1; }; }\n"
	base := tree{
		"tests/add_test.sh":  ". lib/assert.sh\n. lib/math.sh\n. lib/check.sh\nassert_eq \"$(add 1 2)\" 3\n",
		"tests/table.bats":   "load ../lib/t\n@test \"all\" {\n  cat data/n | while read a b; do [ \"$(./app $a)\" = \"$b\" ]; done\n}\n",
		"ci.sh":              "for t in tests/*_test.sh; do sh \"$t\" || exit 1; done\ncat cases | while read a b; do [ \"$(./app $a)\" = \"$b\" ] || exit 1; done\nfor n in $(cat limits); do ./app $n; done\n",
		"lib/assert.sh":      assert,
		"lib/t.bash":         assert,
		"lib/math.sh":        "add() { echo $(($1 + $2)); }\n",
		"lib/check.sh":       "check() { test -n \"$1\"; }\n",
		"app":                "#!/bin/sh\n. \"$(dirname \"$0\")/lib/check.sh\"\nread limit < \"./limits\"\n",
		"cases":              "1 1\n",
		"limits":             "1\n",
		"data/n":             "1 1\n",
		"data/unused":        "1 1\n",
		"README.md":          "text\n",
		"examples/assert.sh": assert,
	}
	for p, want := range map[string]pawl.PathClass{
		"lib/assert.sh": pawl.ClassGateInput, "lib/t.bash": pawl.ClassGateInput, "lib/math.sh": pawl.ClassCode, "lib/check.sh": pawl.ClassCode,
		"cases": pawl.ClassGateInput, "limits": pawl.ClassCode, "examples/assert.sh": pawl.ClassCode, "README.md": pawl.ClassDocs, "data/n": pawl.ClassSupport,
	} {
		c := between(base, base.with(tree{p: base[p] + "# more\n", "app": base["app"] + "# more\n"}))
		c.Gates = []pawl.GateSpec{{Name: "tests", Kind: pawl.GateTests, Command: "sh ci.sh && bats tests"}}
		s := Look(c)
		if got := s.parts[p]; !slices.Equal(got, []pawl.PathClass{want}) {
			t.Errorf("%s is %v, want %s", p, got, want)
		}
	}
}
