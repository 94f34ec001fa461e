//go:build unix

package command

import (
	"path/filepath"
	"syscall"
	"testing"

	"pawl"
)

// A report that is a pipe is not waited for.
func TestReportIsAPipe(t *testing.T) {
	dir := t.TempDir()
	r := MustJudgeFile(t, dir, "report.xml", func() {
		if err := syscall.Mkfifo(filepath.Join(dir, "report.xml"), 0o644); err != nil {
			t.Fatal(err)
		}
	})
	want(t, r, pawl.VerdictFail, "the report report.xml is not a regular file")
}
