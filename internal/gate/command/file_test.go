package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
)

const passing = `<testsuite name="s"><testcase classname="A" name="x"/></testsuite>`

func MustWrite(tb testing.TB, dir, name, content string) {
	tb.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		tb.Fatal(err)
	}
}

// MustJudgeFile judges a command that does something to the checkout dir and
// whose report is in file.
func MustJudgeFile(t *testing.T, dir, file string, during func()) pawl.GateReport {
	t.Helper()
	p := &player{tree: dir, result: play(0, "done\n"), during: func(pawl.Command) { during() }}
	s := spec(pawl.GateTests)
	s.File = file
	r, err := New().Judge(t.Context(), pawl.GateRequest{Spec: s, Room: p})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReportFile(t *testing.T) {
	t.Run("is read", func(t *testing.T) {
		dir := t.TempDir()
		r := MustJudgeFile(t, dir, "out/report.xml", func() { MustWrite(t, dir, "out/report.xml", passing) })
		want(t, r, pawl.VerdictPass, "1 test passes")
		if r.Format != pawl.ReportJUnit {
			t.Errorf("format %s", r.Format)
		}
	})
	t.Run("several by a pattern", func(t *testing.T) {
		dir := t.TempDir()
		MustWrite(t, dir, "a/target/TEST-old.xml", strings.ReplaceAll(passing, `"A"`, `"Old"`))
		r := MustJudgeFile(t, dir, "**/target/TEST-*.xml", func() {
			MustWrite(t, dir, "a/target/TEST-a.xml", passing)
			MustWrite(t, dir, "b/target/TEST-b.xml", strings.ReplaceAll(passing, `"A"`, `"B"`))
		})
		want(t, r, pawl.VerdictPass, "2 tests pass")
	})
	t.Run("is not written", func(t *testing.T) {
		dir := t.TempDir()
		want(t, MustJudgeFile(t, dir, "report.xml", func() {}), pawl.VerdictFail, "the command did not write report.xml")
		want(t, MustJudgeFile(t, dir, "**/*.xml", func() {}), pawl.VerdictFail, "the command did not write **/*.xml")
	})
	t.Run("came with the candidate", func(t *testing.T) {
		dir := t.TempDir()
		MustWrite(t, dir, "report.xml", passing)
		want(t, MustJudgeFile(t, dir, "report.xml", func() {}), pawl.VerdictFail, "the command did not write report.xml: what is there was there before")
		r := MustJudgeFile(t, dir, "report.xml", func() { MustWrite(t, dir, "report.xml", strings.ReplaceAll(passing, "A", "AA")) })
		want(t, r, pawl.VerdictPass, "1 test passes")
	})
	t.Run("is in another format", func(t *testing.T) {
		dir := t.TempDir()
		want(t, MustJudgeFile(t, dir, "report.xml", func() { MustWrite(t, dir, "report.xml", "hello") }), pawl.VerdictFail, "report.xml is in no format that is known")
	})
	t.Run("one of two is damaged", func(t *testing.T) {
		dir := t.TempDir()
		r := MustJudgeFile(t, dir, "*.xml", func() {
			MustWrite(t, dir, "a.xml", passing)
			MustWrite(t, dir, "b.xml", "<testsuite>")
		})
		want(t, r, pawl.VerdictFail, "the JUnit report is damaged: XML syntax error on line 1: unexpected EOF")
	})
	t.Run("lies outside", func(t *testing.T) {
		outside, dir := t.TempDir(), t.TempDir()
		MustWrite(t, outside, "report.xml", passing)
		want(t, MustJudgeFile(t, dir, "../report.xml", func() {}), pawl.VerdictFail, "the report file ../report.xml is not inside the checkout")
		r := MustJudgeFile(t, dir, "report.xml", func() {
			if err := os.Symlink(filepath.Join(outside, "report.xml"), filepath.Join(dir, "report.xml")); err != nil {
				t.Fatal(err)
			}
		})
		if r.Verdict != pawl.VerdictFail || !strings.Contains(r.Reason, "escapes") {
			t.Errorf("%s: %s", r.Verdict, r.Reason)
		}
	})
	t.Run("is too large", func(t *testing.T) {
		dir := t.TempDir()
		r := MustJudgeFile(t, dir, "report.xml", func() {
			MustWrite(t, dir, "report.xml", "")
			if err := os.Truncate(filepath.Join(dir, "report.xml"), 1<<40); err != nil {
				t.Skipf("the file system has no sparse files: %v", err)
			}
		})
		want(t, r, pawl.VerdictFail, "the report report.xml is larger than 32 MiB")
	})
	t.Run("are too many", func(t *testing.T) {
		dir := t.TempDir()
		r := MustJudgeFile(t, dir, "*.xml", func() {
			for i := range maxReportFiles + 1 {
				MustWrite(t, dir, fmt.Sprintf("%d.xml", i), "")
			}
		})
		want(t, r, pawl.VerdictFail, "find the report files *.xml: more than 2000 files match *.xml")
	})
}

// Tools print the checkout's own path; names must not depend on it.
func TestNamesDoNotHoldTheCheckout(t *testing.T) {
	judge := func(base *pawl.GateReport) pawl.GateReport {
		dir := t.TempDir()
		p := &player{tree: dir, result: play(0, "TAP version 13\nok 1 - "+dir+"/test/a.js\n1..1\n")}
		r, err := New().Judge(t.Context(), pawl.GateRequest{Spec: spec(pawl.GateTests), Room: p, Base: base})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	base := judge(nil)
	if base.Tests[0].Name != "test/a.js" {
		t.Errorf("name %q", base.Tests[0].Name)
	}
	want(t, judge(&base), pawl.VerdictPass, "1 test passes")
}
