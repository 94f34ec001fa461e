package class

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pawl"
)

// What a script loads to compare with judges; what it loads to look at what that does is code. F-98
func TestLibraries(t *testing.T) {
	const (
		assert  = "assert_eq() {\n  if [ \"$1\" != \"$2\" ]; then echo \"FAIL: want $2, got $1\" >&2; exit 1; fi\n}\n"
		same    = "same() { [ \"$1\" = \"$2\" ] || { echo \"not ok: $3\"; failed=1; }; }\n"
		compute = "add() { echo $(($1 + $2)); }\nis_even() { [ $(($1 % 2)) -eq 0 ]; }\n"
	)
	for _, tt := range []struct {
		name, command, script string
		tree                  map[string]string
		inputs                string
	}{
		{"what compares", "sh ci.sh", ". lib/t.sh\nsame \"$(./app 1)\" 1", map[string]string{"lib/t.sh": same}, "ci.sh lib/t.sh"},
		{"what asserts", "sh ci.sh", "set -e; source \"$(dirname \"$0\")/lib/x.sh\"\nassert_eq \"$(./app 1)\" 1", map[string]string{"lib/x.sh": assert}, "ci.sh lib/x.sh"},
		{"what is called like it", "sh ci.sh", ". ./lib/harness.sh\ncase_is 1 \"$(./app 1)\"", map[string]string{"lib/harness.sh": "case_is() { test $2 = 1; }\n"}, "ci.sh lib/harness.sh"},
		{"what it loads itself", "sh ci.sh", ". lib/assert.sh\nassert_eq 1 1", map[string]string{"lib/assert.sh": ". \"$(dirname \"$0\")/lib/t.sh\"\n", "lib/t.sh": assert}, "ci.sh lib/assert.sh lib/t.sh"},
		{"helpers of what asserts", "sh ci.sh", ". lib/x.sh\nassert_eq \"$(quiet app 1)\" 1", map[string]string{"lib/x.sh": assert + "quiet() { \"$@\" 2>/dev/null; }\n"}, "ci.sh lib/x.sh"},
		{"settings", "sh ci.sh", ". ./settings\n./app", map[string]string{"settings": "A=1\n"}, "app ci.sh settings"},
		{"what runs the program", "sh ci.sh", ". ./cases.sh\ngot=$(in_folder 1)\ntest $got = 3", map[string]string{"cases.sh": "in_folder() {\n  cd \"$tmp\" && sh \"$root/app\" $1\n}\n"}, "cases.sh ci.sh"},
		{"what runs the program, among what is built", "sh ci.sh", ". src/cases.sh\ngot=$(in_folder 1)\ntest $got = 3", map[string]string{"src/cases.sh": "in_folder() {\n  cd \"$tmp\" && sh \"$root/app\" $1\n}\n"}, "ci.sh"},
		{"the command itself", ". lib/x.sh && assert_eq \"$(./app)\" 1", "", map[string]string{"lib/x.sh": assert}, "lib/x.sh"},
		{"a makefile", "make test", "", map[string]string{"lib/x.sh": assert, "Makefile": "test:\n\t. ./lib/x.sh; assert_eq \"$$(./app 1)\" 1\n"}, "Makefile lib/x.sh"},

		{"functions that are looked at", "sh ci.sh", ". lib/math.sh\n[ \"$(add 1 2)\" = 3 ] || exit 1", map[string]string{"lib/math.sh": compute}, "ci.sh"},
		{"the same at the root", "sh ci.sh", ". ./math.sh\ngot=$(add 1 2)\ntest $got = 3", map[string]string{"math.sh": compute}, "ci.sh"},
		{"the same in a pipe", "sh ci.sh", ". lib/math.sh\nadd 1 2 | diff - want", map[string]string{"lib/math.sh": compute, "want": ""}, "ci.sh"},
		{"functions that only end well", "sh ci.sh", ". lib/math.sh\nis_even 2 && ! is_even 3", map[string]string{"lib/math.sh": compute}, "ci.sh"},
		{"functions that compare and are looked at", "sh ci.sh", ". lib/sum.sh\n[ \"$(verify_sum a b)\" = failed ]", map[string]string{"lib/sum.sh": "verify_sum() { [ \"$1\" = \"$2\" ] || echo failed; }\n"}, "ci.sh"},
		{"both", "sh ci.sh", ". lib/x.sh; . lib/math.sh\nassert_eq \"$(add 1 2)\" 3", map[string]string{"lib/x.sh": assert, "lib/math.sh": compute}, "ci.sh lib/x.sh"},
		{"assertions that are tested", "sh ci.sh", ". lib/x.sh\nout=$(assert_eq 1 2 2>&1)\n[ \"$out\" = 'FAIL: want 2, got 1' ]", map[string]string{"lib/x.sh": assert}, "ci.sh"},

		{"a test of bats", "bats tests", "", map[string]string{"tests/a.bats": "load '../lib/x'\n@test \"one\" {\n  assert_eq \"$(./app)\" 1\n}\n", "lib/x.bash": assert}, "lib/x.bash"},
		{"a subject of bats", "bats tests", "", map[string]string{"tests/a.bats": "source \"$BATS_TEST_DIRNAME/../lib/math.sh\"\n@test \"one\" {\n  run add 1 2\n  [ \"$output\" = 3 ]\n}\n", "lib/math.sh": compute}, ""},
		{"a subject at the root", "bats tests", "", map[string]string{"tests/a.bats": "source ./math.sh\n@test \"one\" {\n  is_even 2\n}\n", "math.sh": compute}, ""},
		{"assertions as the subject", "bats tests", "", map[string]string{"tests/a.bats": "load ../src/x\n@test \"one\" {\n  run assert_eq 1 2\n  [ $status -eq 1 ]\n}\n", "src/x.bash": assert}, ""},
	} {
		tree := map[string]string{"app": ""}
		if tt.script != "" {
			tree["ci.sh"] = tt.script
		}
		maps.Copy(tree, tt.tree)
		c := New(nil, []string{tt.command})
		for _, name := range slices.Sorted(maps.Keys(tree)) {
			if c.Of(name) == pawl.ClassTest {
				c.FollowTest(name, []byte(tree[name]))
			}
		}
		var got []string
		for _, name := range slices.Sorted(maps.Keys(follow(t, c, tree))) {
			if c.Of(name) == pawl.ClassGateInput {
				got = append(got, name)
			}
		}
		if list := strings.Join(got, " "); list != tt.inputs {
			t.Errorf("%s: gate inputs are %q, want %q", tt.name, list, tt.inputs)
		}
	}
}

// follow lets classes read a tree as a caller does, and returns it.
func follow(t *testing.T, c *Classes, tree map[string]string) map[string]string {
	t.Helper()
	for round, more := 0, true; more; round++ {
		if round > 20 {
			t.Fatal("Follow reports new names without end")
		}
		more = false
		for name, data := range tree {
			more = c.Follow(name, []byte(data)) || more
		}
	}
	return tree
}

// The source of the checks in a program that a gate builds, and of which only the exit code counts, is a test. F-98
func TestBuiltChecks(t *testing.T) {
	const (
		check = "#include <assert.h>\n#include \"app.h\"\nint main(void) { assert(add(1, 2) == 3); return 0; }\n"
		app   = "int add(int a, int b) { return a + b; }\n"
		run   = "#include <stdio.h>\nint main(int argc, char **argv) { return run(argc, argv); }\n"
	)
	for _, tt := range []struct {
		name, command, makefile string
		tree                    map[string]string
		tests                   string
	}{
		{"one line", "make check", "check: check.c app.c\n\tcc -o check check.c app.c && ./check\n", nil, "check.c"},
		{"variables", "make check", "check: check.c app.c\n\t$(CC) $(CFLAGS) -o $@ $^\n\t./$@\n", nil, "check.c"},
		{"objects", "make test", "test: check\n\t./check\ncheck: check.o app.o\n\t$(CC) -o $@ $^\n", nil, "check.c"},
		{"rules that make knows", "make test", "test: check\n\t./check\ncheck: check.o app.o\n", nil, "check.c"},
		{"elsewhere", "make test", "test:\n\t@mkdir -p out; $(CC) check.c app.c -o out/check && out/check\n", nil, "check.c"},
		{"outside of the tree", "cc -o /tmp/x check.c app.c && /tmp/x", "", nil, "check.c"},
		{"a command", "cc -Wall check.c app.c && ./a.out", "", nil, "check.c"},
		{"by what it does", "make test", "test:\n\tcc -o all all.c app.c\n\t./all\n", map[string]string{"all.c": check}, "all.c"},
		{"with the code as a part", "cc -o all all.c && ./all", "", map[string]string{"all.c": "#include \"app.c\"\n" + check}, "all.c"},
		{"a script", "sh ci.sh", "", map[string]string{"ci.sh": "tmp=$(mktemp -d)\ncc -o \"$tmp/check\" check.c app.c\n\"$tmp/check\"\n"}, "check.c"},
		{"C++", "make test", "test:\n\t$(CXX) -o check check.cpp app.c\n\t./check\n", map[string]string{"check.cpp": check}, "check.cpp"},

		{"a program whose output is compared", "make test", "test: main\n\t./main <in | diff - out\nmain: main.c app.c\n\tcc -o main main.c app.c\n", nil, ""},
		{"a program that is only run", "make test", "test: main\n\t./main --selftest\nmain: main.c app.c\n\tcc -o main main.c app.c\n", nil, ""},
		{"asserts in a program with arguments", "cc -o main main.c app.c && ./main 1 2", "", map[string]string{"main.c": "#include <assert.h>\nint main() { assert(1); }\n"}, ""},
		{"a program of one file", "cc -o check check.c && ./check", "", nil, ""},
		{"a program that is not run", "make all", "all: check.c app.c\n\tcc -o check check.c app.c\n", nil, ""},
		{"a target that no gate makes", "make all", "all: app.c\n\tcc -c app.c\ncheck: check.c app.c\n\tcc -o check check.c app.c && ./check\n", nil, ""},
		{"a part that is called like a check", "cc -o main main.c check.c && ./main", "", map[string]string{"check.c": "int check(int x) { return x == 1; }\n"}, ""},
	} {
		tree := map[string]string{"check.c": check, "app.c": app, "main.c": run}
		if tt.makefile != "" {
			tree["Makefile"] = tt.makefile
		}
		maps.Copy(tree, tt.tree)
		c := New(nil, []string{tt.command})
		var got []string
		for _, name := range slices.Sorted(maps.Keys(follow(t, c, tree))) {
			if c.Of(name) == pawl.ClassTest {
				got = append(got, name)
			}
		}
		if list := strings.Join(got, " "); list != tt.tests {
			t.Errorf("%s: tests are %q, want %q", tt.name, list, tt.tests)
		}
	}
}

// Data that a script hands to a loop, a program or a comparison is what it judges by; what it only looks at is not. F-98
func TestHanded(t *testing.T) {
	for script, want := range map[string]string{
		"cat cases | while read a b; do test $(./app $a) = $b || exit 1; done":         "cases",
		"cat data/n | sort -u |\nwhile read -r a; do ./app $a; done":                   "data/n",
		"grep -v '^#' cases | while IFS=, read -r a b; do ./app $a; done":              "cases",
		"tail -n +2 \"$here/data/n\" | xargs -n 2 ./app":                               "data/n",
		"for n in $(cat data/n); do ./app $n; done":                                    "data/n",
		"want=$(cat data/n)\n[ \"$(./app)\" = \"$want\" ]":                             "data/n",
		"for n in 1 2; do\n  [ \"$(./app $n)\" = \"$(cat want/$n)\" ] || exit 1\ndone": "want/1 want/2",
		"while read a b; do ./app $a; done < cases":                                    "cases",
		"./app < cases | diff - want/1":                                                "cases",
		"mapfile -t all < <(cat cases)":                                                "cases",
		"cat cases | ./app | diff - want/1":                                            "cases",
		"cat cases":                                                                    "",
		"cat cases | grep -q one":                                                      "",
		"grep -q one cases && test -f data/n":                                          "",
		"lines=$(wc -l < cases); [ $lines -lt 100 ]":                                   "",
		"v=$(grep version cases); echo $v":                                             "",
		"cd data && cat n | while read a; do ./app $a; done":                           "data/n",
		"cd data && cat cases | while read a; do ./app $a; done":                       "",
		"cat cases > copy":                                                             "",
		"cat <<END | while read a; do ./app $a; done\ncases\nEND":                      "",
	} {
		c := New(nil, []string{script})
		var got []string
		for _, name := range []string{"cases", "copy", "data/n", "want/1", "want/2"} {
			if c.IsHanded(name) {
				got = append(got, name)
			}
		}
		if list := strings.Join(got, " "); list != want {
			t.Errorf("%s\n\thanded on are %q, want %q", script, list, want)
		}
	}
}
