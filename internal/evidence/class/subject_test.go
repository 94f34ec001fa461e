package class

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// A program that a gate gives input, or whose output it looks at, is code, however the gate names it; what
// judges it is a gate input. F-98
func TestSubjects(t *testing.T) {
	for _, tt := range []struct {
		name, command string
		tree          map[string]string
		inputs        string
	}{
		{"input and output", "python3 app.py <cases/a.in | diff cases/a.out -", nil, "cases/a.in cases/a.out"},
		{"output alone", "node app.js --version | diff - cases/a.out", nil, "cases/a.out"},
		{"a filter between", "./app.sh | sort -u | tee got | diff cases/a.out -", nil, "cases/a.out"},
		{"a pipe of words", "printf '1 2' | python3 app.py", nil, ""},
		{"a here document", "python3 app.py <<END\n1\nEND", nil, ""},
		{"a here string", "bash app.sh <<< '1 2'", nil, ""},
		{"a search in what it prints", "./app | grep -q ok", nil, ""},
		{"a program of awk", "awk -f app.sh cases/a.in | cmp - cases/a.out", nil, "cases/a.out"},
		{"a program of sed", "got=$(sed -f app.sh cases/a.in); [ \"$got\" = 1 ]", nil, ""},
		{"a program of jq", "jq --from-file app.js cases/a.in | diff - cases/a.out", nil, "cases/a.out"},
		{"a program of awk that only ends well", "awk -f app.sh cases/a.in", nil, "app.sh"},
		{"a file that is compared later", "python3 app.py cases/a.in > got.txt && cmp got.txt cases/a.out", nil, "cases/a.in cases/a.out got.txt"},
		{"a file by an option", "python3 app.py --out=got.txt && diff got.txt cases/a.out", nil, "cases/a.out got.txt"},
		{"a variable", `got=$(python3 app.py 2); [ "$got" = 4 ]`, nil, ""},
		{"a comparison", `test "$(./app 2)" = "$(cat cases/a.out)"`, nil, ""},
		{"backticks", "[ `perl app.pl 2` -eq 4 ]", nil, ""},
		{"as a file", "diff <(python3 app.py cases/a.in) cases/a.out", nil, "cases/a.in cases/a.out"},
		{"a loop", "for f in cases/*.in; do python3 app.py < $f | diff ${f%.in}.out - || exit 1; done", nil, "cases/a.in"},
		{"a loop whose output is compared", "for i in 1 2; do ./app $i; done | diff - cases/a.out", nil, "cases/a.out"},
		{"a loop that reads", "while read n; do ./app.sh $n; done < cases/a.in", nil, "cases/a.in"},
		{"a group", "{ ./app 1; node app.js 2; } | cmp - cases/a.out", nil, "cases/a.out"},
		{"a subshell", "(cd sub && ./app) | diff - cases/a.out", map[string]string{"sub/app": ""}, "cases/a.out"},
		{"a subshell into a file", "( ./app.sh 1 ) > got; diff got cases/a.out", nil, "cases/a.out"},
		{"a function", "run() {\n  python3 app.py \"$1\"\n}\nrun 1 | diff - cases/a.out", nil, "cases/a.out"},
		{"a program in a variable", "APP=./app.sh\n\"$APP\" < cases/a.in", nil, "cases/a.in"},
		{"a command in a variable", "APP='python3 app.py'; $APP < cases/a.in | diff - cases/a.out", nil, "cases/a.in cases/a.out"},
		{"a shell in a shell", "sh -c 'python3 app.py' < cases/a.in", nil, "cases/a.in"},
		{"a module of Go", "go run ./total < cases/a.in | diff - cases/a.out", map[string]string{"total/main.go": "package main"}, "cases/a.in cases/a.out"},
		{"a program in bin", "node bin/app.js < cases/a.in | diff - cases/a.out", map[string]string{"bin/app.js": "require('./part')", "bin/part.js": ""}, "cases/a.in cases/a.out"},
		{"only its grammar", "bash -n app.sh && node --check app.js", nil, ""},
		{"a script", "./run.sh", map[string]string{"run.sh": "#!/bin/sh\nfor c in cases/*; do\n  ./app.sh \"$c\" > /tmp/got\n  diff /tmp/got \"$c.out\" || exit 1\ndone\n"}, "cases/a.in cases/a.out run.sh"},
		{"a script in a folder", "sh ci/run", map[string]string{"ci/run": "cd \"$(dirname \"$0\")/..\"\npython3 app.py < cases/a.in | diff - cases/a.out\n"}, "cases/a.in cases/a.out ci/run"},
		{"a makefile", "make test", map[string]string{"Makefile": "APP = python3 app.py\ntest: cases/a.ok\ncases/%.ok: cases/%.in\n\t@$(APP) <$< | diff $(@:.ok=.out) -\n"}, "Makefile"},
		{"a target that another looks at", "make test", map[string]string{"Makefile": "test:\n\t@$(MAKE) -s run | diff cases/a.out -\nrun:\n\t@python3 app.py\n"}, "Makefile cases/a.out"},
		{"scripts of a manifest", "npm test", map[string]string{"package.json": `{"scripts": {"start": "node app.js", "test": "npm run -s start < cases/a.in | diff - cases/a.out"}}`}, "cases/a.in cases/a.out"},
		{"a script of another language", "python3 verify.py", map[string]string{"verify.py": "import subprocess\nassert subprocess.check_output('./app.sh 1', shell=True) == b'1'\n"}, "verify.py"},

		{"one that only ends well", "python3 app.py", nil, "app.py"},
		{"one that writes nothing but a log", "./app.sh > out.log 2>&1", nil, "app.sh"},
		{"one whose output is thrown away", "./app.sh > /dev/null 2>err.txt < /dev/null", nil, "app.sh"},
		{"a judge in a pipe", "./check.sh 2>&1 | tail -n 20", map[string]string{"check.sh": ""}, "check.sh"},
		{"a judge that writes a file", "sh all.sh > all.txt", map[string]string{"all.sh": "go test ./...\n"}, "all.sh"},
		{"a judge that compares", "n=$(sh all.sh)", map[string]string{"all.sh": "./app.sh 1 | diff - cases/a.out\n"}, "all.sh cases/a.out"},
		{"what compares what a program prints", "python3 app.py | python3 want.py", map[string]string{"want.py": "import sys\n"}, "want.py"},
		{"a tool whose output is compared", "python3 tools/api.py > got.txt && diff got.txt cases/a.out", map[string]string{"tools/api.py": ""}, "cases/a.out got.txt tools/api.py"},
		{"a judge whose script is looked at", "npm test 2>&1 | tee log.txt", map[string]string{"package.json": `{"scripts": {"test": "node app.js"}}`}, "app.js"},
		{"a program that another one loads", ". ./app.sh; ./app.sh 1 | diff - cases/a.out", nil, "cases/a.out"},
	} {
		tree := map[string]string{"cases/a.in": "", "cases/a.out": "", "got.txt": "", "app": "", "app.py": "", "app.js": "", "app.sh": "", "app.pl": ""}
		maps.Copy(tree, tt.tree)
		got, _ := named(t, []string{tt.command}, tree)
		slices.Sort(got)
		if list := strings.Join(got, " "); list != tt.inputs {
			t.Errorf("%s: gate inputs are %q, want %q", tt.name, list, tt.inputs)
		}
	}
}
