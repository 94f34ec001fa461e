package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pawl"
)

// check holds what every reading promises, whatever was read.
func check(t *testing.T, r Reading) {
	t.Helper()
	if len(r.Tests) > maxTests+maxFailures || len(r.Diagnostics) > maxFindings {
		t.Fatalf("%d tests and %d findings are beyond the limits", len(r.Tests), len(r.Diagnostics))
	}
	if r.Passed < 0 || r.Failed < 0 || r.Skipped < 0 {
		t.Fatalf("counts below zero: %d, %d, %d", r.Passed, r.Failed, r.Skipped)
	}
	last := ""
	for i, test := range r.Tests {
		if i > 0 && test.Name <= last {
			t.Fatalf("%q and %q are out of order", last, test.Name)
		}
		last = test.Name
		if len(test.Name) > maxName+10 || len(test.Output) > maxOutput || !utf8.ValidString(test.Name+test.Output) {
			t.Fatalf("%q with %d bytes of output is beyond the limits", test.Name, len(test.Output))
		}
		if strings.ContainsAny(test.Name, "\n\x1b\x00") {
			t.Fatalf("the name %q has control characters", test.Name)
		}
		if test.Status != pawl.TestFail && test.Output != "" {
			t.Fatalf("%q did not fail and keeps output", test.Name)
		}
		Split(test.Name)
		Parent(test.Name)
	}
	for _, f := range r.Diagnostics {
		if len(f.Message) > maxMessage || len(f.File) > maxName || Grade(f.Severity) == 0 || strings.ContainsAny(f.Message+f.File+f.Rule, "\n\x1b\x00") {
			t.Fatalf("the finding %+v is beyond the limits", f)
		}
	}
}

// fuzz runs one format over hostile text, and the recognition of all.
func fuzz(f *testing.F, format pawl.ReportFormat, kind pawl.GateKind, seeds ...string) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		src := Source{Format: format, Kind: kind, Stdout: []byte(text), Output: []byte(text), Roots: []string{"/home/dev/shop"}}
		check(t, Read(src))
		src.Files = [][]byte{[]byte(text), []byte(text)}
		check(t, Read(src))
	})
}

func FuzzGoTest(f *testing.F) {
	fuzz(f, pawl.ReportGoTest, pawl.GateTests,
		`{"Action":"run","Package":"p","Test":"TestA"}`+"\n"+`{"Action":"output","Package":"p","Test":"TestA","Output":"panic: x\n"}`+"\n"+`{"Action":"fail","Package":"p","Test":"TestA"}`+"\n"+`{"Action":"fail","Package":"p"}`,
		`{"ImportPath":"p","Action":"build-output","Output":"x\n"}`+"\n"+`{"Action":"fail","Package":"p","FailedBuild":"p"}`,
		`{"Action":"pause","Package":"p","Test":"a/b"}`+"\n"+`{"Action":"skip","Package":"p","Test":"a/b"}`)
}

func FuzzJUnit(f *testing.F) {
	fuzz(f, pawl.ReportJUnit, pawl.GateTests,
		`<testsuites><testsuite name="s" failures="1"><testcase classname="a" name="b"><failure message="m">t</failure></testcase></testsuite></testsuites>`,
		`<testsuite><error>x</error><testcase name="&#x1b;[31m&#0;"/></testsuite><testsuite>`,
		"<testsuite name=\"\xff\xfe\"><testcase name='q'><skipped/><system-out><![CDATA[ ]]></system-out></testcase></testsuite>")
}

func FuzzTAP(f *testing.F) {
	fuzz(f, pawl.ReportTAP, pawl.GateTests,
		"TAP version 14\n1..2\n    # Subtest: a\n    ok 1 - b\n    1..1\nok 1 - a\nnot ok 2 - c # TODO x\n  ---\n  at: y\n  ...\n",
		"1..1\nnot ok 1 - f # time=1ms {\n    1..1\n    ok 1 - g\n}\n", "1..3\nok\nBail out! no", "1..99999999999999999999\nok 1")
}

func FuzzSARIF(f *testing.F) {
	fuzz(f, pawl.ReportSARIF, pawl.GateSecurity,
		`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"x","rules":[{"id":"a","properties":{"security-severity":"9.9"}}]}},"results":[{"ruleId":"a/1","ruleIndex":7,"message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///a%zz"},"region":{"startLine":-3}}}]}]}]}`,
		`{"version":"2.1.0","runs":[{"results":[{"properties":[1],"level":3}]}]}`, `{"version":"2.1.0","runs":[`+strings.Repeat(`[`, 300))
}

func FuzzTestText(f *testing.F) {
	fuzz(f, pawl.ReportAuto, pawl.GateTests,
		"--- FAIL: TestA (0.00s)\n    a_test.go:3: want 3\nFAIL\nFAIL\tp\t0.1s\n", "panic: test timed out\n\t\tTestA (1s)\nFAIL\tp\t1.0s\n",
		"test_a.py::test_b FAILED [ 50%]\n____ test_b ____\nboom\n==== 1 failed, 1 passed in 0.10s ====\n",
		"FAIL: test_b (a.A.test_b)\nRan 2 tests in 0.1s\n\nFAILED (failures=1)\n",
		"test a::b ... FAILED\n---- a::b stdout ----\nx\ntest result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured\n",
		"FAIL src/a.test.js\n  sum\n    ✕ adds (1 ms)\n  ● sum › adds\n\n    x\n\nTests:       1 failed, 1 total\n",
		" × a.test.ts > s > t 2ms\n FAIL  a.test.ts > s > t\nx\n Test Files  1 failed (1)\n      Tests  1 failed (1)\n",
		"  s\n    1) t\n\n  0 passing (1ms)\n  1 failing\n\n  1) s\n       t:\n     Error\n",
		"▶ s\n  ✖ t (0.1ms)\n▶ s (1ms)\nℹ tests 1\nℹ pass 0\nℹ fail 1\n", `{"numTotalTests":1,"testResults":[{"name":"a","status":"failed"}]}`,
		"Tests run: 9, Failures: 1, Errors: 0, Skipped: 0", "rspec ./a_spec.rb:1 # b\n1 example, 1 failure")
}

func FuzzFindings(f *testing.F) {
	fuzz(f, pawl.ReportAuto, pawl.GateLint,
		"a.go:1:2: error: m (x)\nb.ts(1,2): error TS1: m\nerror[E1]: m\n --> c.rs:1:2\n/p/d.js\n  1:2  error  m  rule\n")
}

func FuzzAudit(f *testing.F) {
	fuzz(f, pawl.ReportAuto, pawl.GateSecurity,
		`{"auditReportVersion":2,"vulnerabilities":{"a":{"severity":"high","via":["b",{"title":"t"}]}}}`,
		`{"advisories":{"1":{"severity":"low"}},"metadata":{}}`,
		`{"config":{"scanner_name":"govulncheck"}}{"finding":{"osv":"GO-1","trace":[{"module":"m","function":"f"}]}}`,
		"Vulnerability #1: GO-2024-1")
}
