package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"

	"pawl"
	"pawl/internal/store/storetest"
	"pawl/internal/testsize"
)

const childRuns = 8

func childRun(i int) pawl.RunID { return pawl.RunID(fmt.Sprintf("%03d-child", i)) }

// childBlobs are the blobs of the unit after a number: one in the row, and now
// and then one in a file.
func childBlobs(run int, after pawl.Seq) [][]byte {
	seed := uint64(run)<<20 | uint64(after)
	blobs := [][]byte{storetest.Noise(seed, 2000)}
	if after%33 == 0 {
		blobs = append(blobs, storetest.Noise(seed, 70_000))
	}
	return blobs
}

// appendUntilKilled is the main function of the child process. It appends units until
// the process is killed, unless rounds lists how many units to append to each run in
// each round. In that case it checkpoints often and closes the log after every round
// but the last.
func appendUntilKilled(dir, rounds string) error {
	often := rounds != ""
	if !often {
		rounds = strconv.Itoa(math.MaxInt)
	}
	for rounds := strings.Fields(rounds); len(rounds) > 0; rounds = rounds[1:] {
		units, err := strconv.Atoi(rounds[0])
		if err != nil {
			return err
		}
		log, err := newLog(osDisk{}, dir)
		if err != nil {
			return err
		}
		if often {
			log.copyAfter = 32 << 10
		}
		if err := log.open(); err != nil {
			return err
		}
		var group errgroup.Group
		for i := range childRuns {
			group.Go(func() error { return appendUnits(log, i, units) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
		if len(rounds) > 1 {
			if err := log.Close(); err != nil {
				return err
			}
		}
	}
	return nil
}

// appendUnits appends units of three events to a run and writes a line to standard
// output for each acknowledged unit.
func appendUnits(log *Log, run, units int) error {
	ctx := context.Background()
	events, err := storetest.Collect(log.Events(ctx, childRun(run), 0))
	if err != nil && pawl.CodeOf(err) != pawl.CodeNotFound {
		return err
	}
	for after := pawl.Seq(len(events)); units > 0; units-- {
		if err := log.Append(ctx, storetest.Unit(childRun(run), after, 3, childBlobs(run, after)...)); err != nil {
			return err
		}
		after += 3
		fmt.Fprintf(os.Stdout, "%d %d\n", run, after)
	}
	return nil
}

// mustKillChild runs appendUntilKilled, kills it after so many acknowledgements
// and returns the last number that each run was told.
func mustKillChild(t *testing.T, dir string, acknowledgements int) (told [childRuns]int) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for n := 0; lines.Scan(); n++ {
		var run, seq int
		if _, err := fmt.Sscan(lines.Text(), &run, &seq); err != nil {
			t.Fatalf("the child said %q", lines.Text())
		}
		told[run] = seq
		if n == acknowledgements {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = child.Wait()
	if status := child.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() {
		t.Fatalf("the child ended by itself: %v", child.ProcessState)
	}
	return told
}

// Everything that was acknowledged is there after kill -9, nothing is half
// there, and a reader sees it before any writer has been at the file again.
func TestKilledProcess(t *testing.T) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, uint64(2+testsize.Turn())))
	for round := range testsize.Of(2, 2, 6) {
		told := mustKillChild(t, dir, random.IntN(testsize.Of(250, 300, 1000)))
		before := mustRead(t, filepath.Join(dir, fileName))
		walBefore := mustRead(t, filepath.Join(dir, fileName+"-wal"))
		reader := mustOpenReadOnly(t, dir)
		seen := wantTold(t, reader, told)
		mustClose(t, reader)
		if string(mustRead(t, filepath.Join(dir, fileName))) != string(before) ||
			string(mustRead(t, filepath.Join(dir, fileName+"-wal"))) != string(walBefore) {
			t.Error("reading changed the file or its WAL")
		}
		log := mustOpen(t, dir)
		if again := wantTold(t, log, told); again != seen {
			t.Errorf("round %d: the reader saw %v events, the writer sees %v", round, seen, again)
		}
		mustClose(t, log)
	}
}

// wantTold checks that each run has at least its acknowledged events, in whole units
// with their blobs.
func wantTold(t *testing.T, log *Log, told [childRuns]int) (seen [childRuns]int) {
	t.Helper()
	for i, least := range told {
		events, err := storetest.Collect(log.Events(t.Context(), childRun(i), 0))
		if pawl.CodeOf(err) == pawl.CodeNotFound && least == 0 {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		seen[i] = len(events)
		if len(events) < least || len(events)%3 != 0 {
			t.Fatalf("run %d has %d events; %d were acknowledged, three at a time", i, len(events), least)
		}
		wantRun(t, log, childRun(i), len(events))
		for after := 0; after < len(events); after += 3 {
			for _, b := range childBlobs(i, pawl.Seq(after)) {
				storetest.MustBlob(t, log, childRun(i), b)
			}
		}
	}
	return seen
}

// walUnits is how many units mustCopyOpen's log has.
const walUnits = 30

// mustCopyOpen returns the file and the WAL of a log that is still open, as a
// power cut would leave them: some units are in the file, some only in the WAL.
func mustCopyOpen(t *testing.T) (file, wal []byte) {
	t.Helper()
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	db := mustSQL(t, dir)
	for i := range walUnits {
		storetest.MustAppend(t, log, storetest.Unit("001-a", pawl.Seq(2*i), 2, storetest.Noise(uint64(i), 2500)))
		if i == walUnits/3 {
			mustExec(t, db, "PRAGMA wal_checkpoint(PASSIVE)")
		}
	}
	return copyFiles(t, dir)
}

// copyFiles runs cp, because closing a file of our own would drop SQLite's locks.
func copyFiles(t testing.TB, dir string) (file, wal []byte) {
	t.Helper()
	to := t.TempDir()
	names := []string{fileName, fileName + "-wal"}
	for _, name := range names {
		if out, err := exec.Command("cp", filepath.Join(dir, name), to).CombinedOutput(); err != nil {
			t.Fatalf("cp: %v: %s", err, out)
		}
	}
	return mustRead(t, filepath.Join(to, names[0])), mustRead(t, filepath.Join(to, names[1]))
}

// A WAL that ends anywhere, or has a wrong byte anywhere, gives back whole units
// up to there, never fewer than were in the file at the last checkpoint, and
// the log goes on from them.
func TestTornWAL(t *testing.T) {
	file, wal := mustCopyOpen(t)
	const inFile = walUnits/3 + 1
	open := func(t *testing.T, wal []byte) int {
		dir := t.TempDir()
		mustWrite(t, filepath.Join(dir, fileName), file)
		mustWrite(t, filepath.Join(dir, fileName+"-wal"), wal)
		log := mustOpen(t, dir)
		defer mustClose(t, log)
		events := len(storetest.MustEvents(t, log, "001-a", 0))
		if events%2 != 0 || events < 2*inFile {
			t.Fatalf("%d events are there; %d were in the file, two at a time", events, 2*inFile)
		}
		wantRun(t, log, "001-a", events)
		storetest.MustAppend(t, log, storetest.Unit("001-a", pawl.Seq(events), 2))
		wantRun(t, log, "001-a", events+2)
		return events / 2
	}
	if units := open(t, wal); units != walUnits {
		t.Fatalf("%d units with the whole WAL, want %d", units, walUnits)
	}
	random := rand.New(rand.NewPCG(3, 4))
	const header, frame = 32, 24 + 4096
	t.Run("cut short", func(t *testing.T) {
		last, sizes := 0, []int{0, 1, header - 1, header, header + 1}
		for i, at := 0, header; at+frame <= len(wal); i, at = i+1, at+3*frame {
			if !testsize.Every(i, 3) {
				continue
			}
			sizes = append(sizes, at+1, at+random.IntN(frame), at+frame-1, at+frame)
		}
		for _, size := range sizes {
			units := open(t, wal[:size])
			if units < last {
				t.Fatalf("%d units with %d bytes of WAL, %d with fewer", units, size, last)
			}
			last = units
		}
		if last <= inFile {
			t.Errorf("no length gave more than the %d units of the file", inFile)
		}
	})
	t.Run("with a wrong byte", func(t *testing.T) {
		for i := range 40 {
			torn := append([]byte(nil), wal...)
			torn[random.IntN(len(torn))] ^= 1 << random.IntN(8)
			if testsize.Every(i, 4) {
				open(t, torn)
			}
		}
	})
}
