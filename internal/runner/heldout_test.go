package runner_test

import (
	"encoding/json"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pawl"
	"pawl/internal/heldout"
	"pawl/internal/sandbox"
)

// marker is in every held-out file: wherever it is, somebody may have seen them.
const marker = "MARKER"

// inBoxes runs a test without a sandbox, and in one where there is one.
func inBoxes(t *testing.T, test func(t *testing.T, box *sandbox.Box)) {
	t.Run("Unconfined", func(t *testing.T) { test(t, sandbox.Unconfined()) })
	t.Run("Confined", func(t *testing.T) {
		if _, err := exec.LookPath("bwrap"); err != nil {
			t.Skip("bubblewrap is not installed")
		}
		box, err := sandbox.Probe(t.Context())
		if err != nil {
			t.Skipf("bubblewrap does not work here: %v", err)
		}
		test(t, box)
	})
}

// holds makes the run one with held-out checks.
func (w *world) holds(tb testing.TB, c heldout.Checks, feedback pawl.HeldOutFeedback) {
	tb.Helper()
	data, err := c.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	w.job.Started.HeldOut = w.MustKeep(tb, data)
	w.job.Settings.HeldOutFeedback = feedback
	w.gates(pawl.GateSpec{Name: pawl.HeldOutGate, Kind: pawl.GateHeldOut, Command: "held-out checks"}, pawl.GateSpec{Name: "tests", Kind: pawl.GateTests, Command: "make check"})
}

// whole is the report for people.
func (w *world) whole(tb testing.TB, b *pawl.GateJudged) (rep pawl.GateReport) {
	tb.Helper()
	if err := json.Unmarshal([]byte(w.MustBlob(tb, b.Whole())), &rep); err != nil {
		tb.Fatal(err)
	}
	return rep
}

func check(name, text string) pawl.RoomFile {
	return pawl.RoomFile{Path: name, Data: []byte(text + "\n# " + marker + "\n")}
}

// Held-out checks see the candidate's code with the base's test support and gate inputs, and the
// overlay over it. Agents are told what the settings say, people everything.
func TestHeldOut(t *testing.T) {
	inBoxes(t, func(t *testing.T, box *sandbox.Box) {
		w := MustWorldIn(t, box, map[string]string{"app.txt": "old\n", "tests/conftest.py": "base = 1\n", "tests/test_app.py": "def test_a(): assert 1\n", "Makefile": "check:\n\ttrue\n"})
		w.MustOpen(t)
		for name, content := range map[string]string{"app.txt": "new\n", "tests/conftest.py": "mine = 1\n", "tests/test_app.py": "def test_b(): assert 1\n", "Makefile": "check:\n\tfalse\n", "data/x": "mine\n"} {
			MustWrite(t, w.dir(name), content)
		}
		judge := &pawl.RunGate{Gate: pawl.HeldOutGate, Commit: w.MustCandidate(t), Start: w.base}
		checks := heldout.Checks{
			Scripts: []pawl.RoomFile{
				check("01-code.sh", `test "$(cat app.txt)" = new && grep -q test_b tests/test_app.py && echo done > made`),
				check("02-support.sh", `test "$(cat tests/conftest.py)" = "base = 1" && grep -q true Makefile && test -f made`),
				check("03-data.sh", "#!/bin/sh -eu\necho says $(cat data/x data/y); test \"$PAWL_PROJECT_ROOT\" = \"$PWD\"; ./run; exit 3"),
			},
			Overlay: []pawl.RoomFile{{Path: "data/x", Data: []byte("ours " + marker)}, {Path: "data/y", Data: []byte("too")}, {Path: "run", Data: []byte("#!/bin/sh\necho ran\n"), Executable: true}},
		}
		secret := "hunter2-hunter2"
		w.r.Redact = func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), secret, "[redacted]")) }
		checks.Scripts[2].Data = append(checks.Scripts[2].Data, []byte("# "+secret)...)
		var alike []uint64
		for _, row := range []struct {
			feedback pawl.HeldOutFeedback
			reason   string
			tests    int
			total    int
			isTold   bool
		}{
			{pawl.HeldOutNone, "the held-out checks fail", 0, 0, false},
			{pawl.HeldOutNames, "1 of 3 held-out checks fail: 03-data.sh", 1, 3, false},
			{pawl.HeldOutFull, "1 of 3 held-out checks fail: 03-data.sh", 3, 3, true},
		} {
			w.holds(t, checks, row.feedback)
			b := must[*pawl.GateJudged](t, w, judge)
			shown := w.MustBlob(t, b.Evidence)
			rep := w.report(t, b)
			if b.Verdict != pawl.VerdictFail || b.Kind != pawl.GateHeldOut || b.Reason != row.reason || b.Total != row.total || len(rep.Tests) != row.tests {
				t.Errorf("%s: %+v, %s", row.feedback, b, shown)
			}
			if strings.Contains(shown, marker) != row.isTold || strings.Contains(shown, "exit 3") != row.isTold || strings.Contains(shown, "01-code") != row.isTold || row.feedback == pawl.HeldOutNone && strings.Contains(shown, "03-data") {
				t.Errorf("%s: agents are told %s", row.feedback, shown)
			}
			if full := w.whole(t, b); len(full.Tests) != 3 || full.Passed != 2 || full.ExitCode != 3 || full.Tests[2].Output != "exit 3\nsays ours "+marker+"too\nran" || b.Full.IsZero() == !row.isTold {
				t.Errorf("%s: people are told %+v", row.feedback, full)
			}
			alike = append(alike, b.Error, b.Failing)
		}
		if alike[0] == 0 || alike[0] != alike[2] || alike[1] == 0 || alike[1] != alike[3] {
			t.Errorf("failures that are alike have the fingerprints %x", alike)
		}
		if said := strings.Join(w.said, ""); strings.Contains(said, marker) {
			t.Errorf("while it runs is shown %q", said)
		}
		if text := w.git(t, "cat-file", "--batch-all-objects", "--batch"); strings.Contains(text, marker) || !strings.Contains(text, "mine = 1") {
			t.Error("git has the checks, or does not have the candidate")
		}
		nothingLeft(t, filepath.Dir(w.repo))

		checks.Scripts = checks.Scripts[:2]
		w.holds(t, checks, pawl.HeldOutNames)
		if b := must[*pawl.GateJudged](t, w, judge); b.Verdict != pawl.VerdictPass || b.Reason != "all 2 held-out checks pass" || b.Passed != 2 || len(w.report(t, b).Tests) != 0 || b.Error != 0 {
			t.Errorf("what passes is judged %+v", b)
		}
	})
}

// nothingLeft fails if a file below a folder holds the marker.
func nothingLeft(tb testing.TB, dir string) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(MustRead(tb, path), marker) {
			tb.Errorf("%s has something of the checks", path)
		}
		return err
	})
	if err != nil {
		tb.Error(err)
	}
}

// A check that hangs is ended, those after it do not run, and checks that are not there judge
// nothing.
func TestHeldOutTroubles(t *testing.T) {
	w := MustWorld(t, map[string]string{"a": "a\n"})
	judge := &pawl.RunGate{Gate: pawl.HeldOutGate, Commit: w.base}
	w.holds(t, heldout.Checks{Scripts: []pawl.RoomFile{check("a.sh", "sleep 60"), check("b.sh", "true")}}, pawl.HeldOutNames)
	w.job.Settings.Gates[0].Timeout = time.Second
	b := must[*pawl.GateJudged](t, w, judge, timeout(2*time.Second))
	if b.Verdict != pawl.VerdictFail || !b.Partial || b.Reason != "the held-out check fails: a.sh, which timed out" {
		t.Errorf("a check that hangs: %+v", b)
	}
	w.holds(t, heldout.Checks{Tests: []pawl.RoomFile{check("test.sh", "true")}}, pawl.HeldOutNames)
	if f := w.fails(t, judge); !strings.Contains(f.Message, "cannot have a folder /tests") {
		t.Errorf("a Harbor task without mounts: %+v", f)
	}
	for _, h := range []pawl.Hash{{}, pawl.HashOf([]byte("lost")), w.MustKeep(t, "{}")} {
		if w.job.Started.HeldOut = h; w.fails(t, judge).Code != pawl.FailDefect {
			t.Errorf("checks %s that are not there judge", h.Short())
		}
	}
}

// The tests of a Harbor task are at /tests, and their reward decides, not their exit code.
func TestHeldOutHarbor(t *testing.T) {
	inBoxes(t, func(t *testing.T, box *sandbox.Box) {
		if !box.Mounts() {
			t.Skip("this sandbox shows everything where it is")
		}
		w := MustWorldIn(t, box, map[string]string{"app.txt": "good\n"})
		judge := &pawl.RunGate{Gate: pawl.HeldOutGate, Commit: w.base}
		for _, row := range []struct {
			script string
			passes bool
			why    string
		}{
			{`test "$(cat app.txt)$WORD" = "$(cat /tests/data/want)" && echo 1 > /logs/verifier/reward.txt; exit 1`, true, ""},
			{`echo 0 > /logs/verifier/reward.txt`, false, "reward 0"},
			{`echo '{"reward": 0.5}' > /logs/verifier/reward.json; echo 1 > /logs/verifier/reward.txt`, false, "reward 0.5"},
			{`true`, false, "exit 0, neither reward.txt nor reward.json in /logs/verifier has a reward"},
			{`echo 1 > /tmp/x; ln -s /tmp/x /logs/verifier/reward.txt`, false, "exit 0, neither reward.txt nor reward.json in /logs/verifier has a reward"},
		} {
			w.holds(t, heldout.Checks{Tests: []pawl.RoomFile{check("test.sh", row.script), {Path: "data/want", Data: []byte("good!")}}, Env: []string{"WORD=!"}}, pawl.HeldOutNames)
			b := must[*pawl.GateJudged](t, w, judge)
			full := w.whole(t, b)
			if (b.Verdict == pawl.VerdictPass) != row.passes || len(full.Tests) != 1 || !row.passes && !strings.HasPrefix(full.Tests[0].Output, row.why+"\n") {
				t.Errorf("%s: %s: %+v", row.script, b.Reason, full)
			}
		}
	})
}
