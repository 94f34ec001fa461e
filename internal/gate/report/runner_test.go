package report

import (
	"strings"
	"testing"

	"pawl"
)

// In a runner's own report tests have the names that its printed text has.
func TestNamesOfRunners(t *testing.T) {
	for _, test := range []struct {
		runner Runner
		format pawl.ReportFormat
		text   string
		want   string
	}{
		{RunnerPytest, pawl.ReportJUnit, `<testsuites><testsuite name="pytest" errors="1" failures="1">
<testcase classname="tests.test_a" name="test_p[a/b::c d]" file="tests/test_a.py" line="1"/>
<testcase classname="tests.test_a.TestX.TestIn" name="test_deep" file="tests/test_a.py"/>
<testcase classname="mod" name="mod.f" file="mod.py"/>
<testcase classname="tests.test_b.TestX" name="test_inherited" file="tests/base.py"/>
<testcase classname="tests.test_a" name="test_td" file="tests/test_a.py"/>
<testcase classname="tests.test_a" name="test_td" file="tests/test_a.py"><error message="failed on teardown"/></testcase>
<testcase classname="" name="tests.test_c" time="0.0"><error message="collection failure">ImportError</error></testcase>
</testsuite></testsuites>`, "mod.py::mod.f pass|tests.test_b.TestX.test_inherited pass|tests.test_c [collection failed] fail|tests/test_a.py::TestX::TestIn::test_deep pass|" +
			"tests/test_a.py::test_p[a/b::c d] pass|tests/test_a.py::test_td fail"},
		{RunnerJest, pawl.ReportAuto, `{"numTotalTests":1,"testResults":[{"name":"/w/src/a.test.js","assertionResults":[{"fullName":"sum deep adds","title":"adds","ancestorTitles":["sum","deep"],"status":"passed"}]}]}`,
			"src/a.test.js > sum › deep › adds pass"},
		{RunnerVitest, pawl.ReportAuto, `{"numTotalTests":1,"testResults":[{"name":"/w/src/a.test.js","assertionResults":[{"fullName":"sum adds","title":"adds","ancestorTitles":["sum"],"status":"failed"}]}]}`,
			"src/a.test.js > sum > adds fail"},
		{RunnerNode, pawl.ReportTAP, "TAP version 13\n# ok 1 - forged\n# Subtest: sum\n    ok 1 - adds\n    1..1\nok 1 - sum\n1..1\n", "sum/adds pass"},
		// Another format is no report of that runner.
		{RunnerPytest, pawl.ReportJUnit, "1..1\nok 1 - x\n", ""},
		{RunnerNode, pawl.ReportTAP, "<testsuite><testcase name='x'/></testsuite>", ""},
	} {
		r := Read(Source{Format: test.format, Kind: pawl.GateTests, Files: [][]byte{[]byte(test.text)}, Runner: test.runner, Roots: []string{"/w"}})
		var got []string
		for _, c := range r.Tests {
			got = append(got, c.Name+" "+string(c.Status))
		}
		if strings.Join(got, "|") != test.want {
			t.Errorf("%s: %s\nwant %s", test.runner, strings.Join(got, "|"), test.want)
		}
		if test.want != "" && r.Tool != string(test.runner) {
			t.Errorf("the tool is %s", r.Tool)
		}
	}
}

func events(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

// What is printed of the events of go test is what go test prints, in however many pieces they come.
func TestGoPrinter(t *testing.T) {
	stream := events(
		`go: downloading example.com/x v1.0.0`,
		`{"Action":"start","Package":"p"}`,
		`{"Action":"run","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}`,
		`{"Action":"output","Package":"p","Test":"TestA","Output":"--- PASS: TestA (0.00s)\n"}`,
		`{"Action":"pass","Package":"p","Test":"TestA"}`,
		`{"Action":"output","Package":"p","Test":"TestB","Output":"=== RUN   TestB\n"}`,
		`{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:3: boom\n"}`,
		`{"Action":"output","Package":"p","Test":"TestB","Output":"--- FAIL: TestB (0.00s)\n"}`,
		`{"Action":"fail","Package":"p","Test":"TestB"}`,
		`{"Action":"output","Package":"p","Output":"FAIL\n"}`,
		`{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}`,
		`{"Action":"fail","Package":"p"}`,
		`{"Action":"output","Package":"q","Output":"PASS\n"}`,
		`{"Action":"output","Package":"q","Output":"ok  \tq\t0.1s\n"}`,
		`{"Action":"pass","Package":"q"}`,
		`{"ImportPath":"r","Action":"build-output","Output":"r.go:1:1: syntax error\n"}`,
		`{"Action":"output","Package":"s","Test":"TestHang","Output":"before\n"}`,
	)
	want := "go: downloading example.com/x v1.0.0\n    b_test.go:3: boom\n--- FAIL: TestB (0.00s)\nFAIL\nFAIL\tp\t0.1s\nok  \tq\t0.1s\nr.go:1:1: syntax error\nbefore\n"
	for size := 1; size < len(stream); size += 7 {
		var got strings.Builder
		p := &GoPrinter{Print: func(b []byte) { got.Write(b) }}
		for rest := stream; rest != ""; {
			n := min(size, len(rest))
			if _, err := p.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := p.Close(); err != nil || got.String() != want {
			t.Fatalf("in pieces of %d, %v:\n%s\nwant\n%s", size, err, got.String(), want)
		}
	}
	var all strings.Builder
	p := &GoPrinter{Verbose: true, Print: func(b []byte) { all.Write(b) }}
	_, _ = p.Write([]byte(stream))
	_ = p.Close()
	if text := all.String(); !strings.Contains(text, "quiet\n--- PASS: TestA") || !strings.Contains(text, "PASS\nok  \tq") {
		t.Errorf("all: %s", text)
	}
}

func FuzzGoPrinter(f *testing.F) {
	f.Add(`{"Action":"output","Package":"p","Test":"T","Output":"x\n"}`+"\nplain", true, 3)
	f.Fuzz(func(t *testing.T, text string, verbose bool, size int) {
		var whole, parts strings.Builder
		for out, n := range map[*strings.Builder]int{&whole: len(text), &parts: 1 + max(size, 0)%9} {
			p := &GoPrinter{Verbose: verbose, Print: func(b []byte) { out.Write(b) }}
			for rest := text; rest != ""; {
				n := min(max(n, 1), len(rest))
				_, _ = p.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			_ = p.Close()
		}
		if whole.String() != parts.String() {
			t.Fatalf("whole %q, in pieces %q", whole.String(), parts.String())
		}
	})
}
