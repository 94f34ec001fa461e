package sqlite

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pawl"
	"pawl/internal/store/storetest"
)

// mustSwap puts another file behind the descriptors that this process has open
// on a log's WAL, so that writing or syncing it really fails. The kernel answers
// for /dev/full that the disk is full when it is written, and for /dev/null that
// it cannot be synced after it took everything.
func mustSwap(t *testing.T, dir, device string) {
	t.Helper()
	file, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	swapped := 0
	for _, fd := range mustFds(t) {
		name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
		if err != nil || name != filepath.Join(dir, fileName+"-wal") {
			continue
		}
		if err := syscall.Dup3(int(file.Fd()), fd, syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		swapped++
	}
	if swapped == 0 {
		t.Fatal("the WAL is not open")
	}
}

func mustFds(t *testing.T) (fds []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil {
			fds = append(fds, fd)
		}
	}
	return fds
}

// Each kind of failing WAL fails the appends that meet it, loses nothing that
// was acknowledged, and is over when the connection was replaced.
func TestFailingWAL(t *testing.T) {
	for _, device := range []string{"/dev/null", "/dev/full"} {
		t.Run(device, func(t *testing.T) {
			dir := t.TempDir()
			log := mustOpen(t, dir)
			last := pawl.Seq(0)
			failed := 0
			for round := range 10 {
				for range 5 {
					storetest.MustAppend(t, log, storetest.Unit("001-a", last, 2, storetest.Noise(uint64(last), 3000)))
					last += 2
				}
				mustSwap(t, dir, device)
				u := storetest.Unit("001-a", last, 2, []byte("perhaps"))
				for err := log.Append(t.Context(), u); err != nil; err = log.Append(t.Context(), u) {
					storetest.WantCode(t, err, pawl.CodeUnavailable)
					if failed++; failed > 10*(round+1) {
						t.Fatalf("it goes on failing: %v", err)
					}
					if device == "/dev/full" {
						// A full disk leaves the connection as it is: give it back its file.
						mustSwapBack(t, dir)
					}
				}
				last += 2
			}
			if failed < 10 {
				t.Errorf("%d of 10 faults were met", failed)
			}
			wantRun(t, log, "001-a", int(last))
			mustClose(t, log)
			wantNoFiles(t, dir)
			log = mustOpen(t, dir)
			defer mustClose(t, log)
			wantRun(t, log, "001-a", int(last))
		})
	}
}

// mustSwapBack undoes mustSwap to /dev/full.
func mustSwapBack(t *testing.T, dir string) {
	t.Helper()
	file, err := os.OpenFile(filepath.Join(dir, fileName+"-wal"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, fd := range mustFds(t) {
		if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil && name == "/dev/full" {
			if err := syscall.Dup3(int(file.Fd()), fd, syscall.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// wantNoFiles checks that this process has nothing open below a folder.
func wantNoFiles(t *testing.T, dir string) {
	t.Helper()
	for _, fd := range mustFds(t) {
		if name, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd)); err == nil && strings.HasPrefix(name, dir) {
			t.Errorf("%s is still open", filepath.Base(name))
		}
	}
}

// A closed log has let go of its files and left no WAL.
func TestCloseLetsGo(t *testing.T) {
	dir := t.TempDir()
	mustSmall(t, dir)
	wantNoFiles(t, dir)
	log := mustOpenReadOnly(t, dir)
	wantRun(t, log, victim, eventsEach)
	mustClose(t, log)
	wantNoFiles(t, dir)
	log = mustOpen(t, dir)
	wantRun(t, log, victim, eventsEach)
	mustClose(t, log)
	wantNoFiles(t, dir)
	names, err := filepath.Glob(filepath.Join(dir, fileName+"*"))
	if err != nil || len(names) != 1 {
		t.Errorf("a closed log leaves %q (%v)", names, err)
	}
}

// A group whose fsync fails is tried again unit by unit, on a new connection.
func TestFailedSyncInAGroup(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 2))
	release := mustHold(t, dir)
	queued := []*request{mustBlock(t, log, storetest.Unit("001-a", 2, 2))}
	for i := range 5 {
		queued = append(queued, mustQueue(t, log, storetest.Unit(pawl.RunID(fmt.Sprintf("%03d-b", i)), 0, 2)))
	}
	mustSwap(t, dir, "/dev/null")
	release()
	failed := 0
	for i, q := range queued {
		if err := <-q.done; err != nil {
			storetest.WantCode(t, explain("append", err), pawl.CodeUnavailable)
			failed++
			continue
		}
		if i > 0 {
			wantRun(t, log, q.id, 2)
		}
	}
	// The one that was alone in its transaction meets the fault; the others
	// follow on a new connection.
	if failed != 1 {
		t.Errorf("%d units failed, want 1", failed)
	}
	wantRun(t, log, "001-a", 2)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 2, 2))
	wantRun(t, log, "001-a", 4)
}

// A full disk fails appends with the folder, the space there and a hint, and loses nothing;
// when there is space again, they go on by themselves. F-18
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	const size = 4 << 20
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Skipf("a small file system cannot be mounted here, so a full disk is not tested: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	log := mustOpen(t, dir)
	ballast := filepath.Join(dir, "ballast")
	mustWrite(t, ballast, make([]byte, size/4))
	var ends [20]pawl.Seq
	var wg sync.WaitGroup
	id := func(i int) pawl.RunID { return pawl.RunID(fmt.Sprintf("%03d-a", i)) }
	for i := range ends {
		wg.Go(func() {
			for {
				err := log.Append(t.Context(), storetest.Unit(id(i), ends[i], 2, storetest.Noise(uint64(i)<<16|uint64(ends[i]), 3000)))
				if err != nil {
					if code := pawl.CodeOf(err); code != pawl.CodeUnavailable {
						t.Errorf("on a full disk: %s: %v", code, err)
					}
					if e := err.(*pawl.Error); !strings.Contains(e.Hint, "free disk space") || !strings.Contains(e.Message, dir+", which has ") {
						t.Errorf("%q, hint %q", e.Message, e.Hint)
					}
					return
				}
				ends[i] += 2
			}
		})
	}
	wg.Wait()
	err := log.Append(t.Context(), storetest.Unit("900-large", 0, 1, storetest.Noise(1, 2<<20)))
	storetest.WantCode(t, err, pawl.CodeUnavailable)
	check := func(log *Log) {
		t.Helper()
		for i := range ends {
			if ends[i] > 0 {
				wantRun(t, log, id(i), int(ends[i]))
			}
		}
	}
	check(log)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for i := range ends {
		storetest.MustAppend(t, log, storetest.Unit(id(i), ends[i], 2))
		ends[i] += 2
	}
	check(log)
	mustClose(t, log)
	log = mustOpen(t, dir)
	check(log)
	mustClose(t, log)
}

// Being out of file descriptors is said as such and never taken for damage.
func TestOutOfFiles(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	large := storetest.Noise(1, 100_000)
	storetest.MustAppend(t, log, storetest.Unit("001-a", 0, 2, large))
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	highest := uint64(0)
	for _, fd := range mustFds(t) {
		highest = max(highest, uint64(fd))
	}
	var filled []*os.File // every descriptor below the limit
	none := syscall.Rlimit{Cur: min(highest+1, math.MaxInt32), Max: was.Max}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	for {
		f, err := os.Open("/dev/null")
		if err != nil {
			break
		}
		filled = append(filled, f)
	}
	_, blobErr := log.Blob(t.Context(), "001-a", pawl.HashOf(large))
	appendErr := log.Append(t.Context(), storetest.Unit("001-a", 2, 1, storetest.Noise(2, 100_000)))
	_, openErr := OpenReadOnly(dir)
	for _, f := range filled {
		f.Close()
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{"blob": blobErr, "append": appendErr, "open": openErr} {
		if err == nil {
			t.Errorf("%s worked without a file descriptor", what)
		} else if code := pawl.CodeOf(err); code != pawl.CodeUnavailable {
			t.Errorf("%s: code %s, want %s: %v", what, code, pawl.CodeUnavailable, err)
		}
	}
	wantRun(t, log, "001-a", 2)
	storetest.MustBlob(t, log, "001-a", large)
}

// A folder that cannot be written any more is named, fails what needs it, and is no damage;
// when it can be written again, all goes on. F-18
func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16777216"); err != nil {
		t.Skipf("a file system cannot be mounted here, so a read-only one is not tested: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	mustRemount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|flags, "size=16777216"); err != nil {
			t.Fatal(err)
		}
	}
	mustSmall(t, dir)
	mustRemount(syscall.MS_RDONLY)
	for _, open := range []func(string) (*Log, error){Open, OpenReadOnly} {
		_, err := open(dir)
		storetest.WantCode(t, err, pawl.CodeUnavailable)
		if e, _ := errors.AsType[*pawl.Error](err); !strings.Contains(err.Error(), dir+" cannot be written") || !strings.Contains(e.Hint, "mounted for reading only") {
			t.Errorf("%v, hint %q", err, e.Hint)
		}
	}
	mustRemount(0)
	log := mustOpen(t, dir)
	defer mustClose(t, log)
	wantRun(t, log, victim, eventsEach)
	wantBystanders(t, log)
}

// A process that may not make its files larger fails appends, and no slot is ahead of what
// is there. F-18
func TestFileSizeLimit(t *testing.T) {
	dir := t.TempDir()
	log := mustOpen(t, dir)
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 100 << 10, Max: was.Max}); err != nil {
		t.Fatal(err)
	}
	last, failed := pawl.Seq(0), 0
	for range 60 {
		err := log.Append(t.Context(), storetest.Unit("001-a", last, 2, storetest.Noise(uint64(last), 3000)))
		if err == nil {
			last += 2
			continue
		}
		failed++
		storetest.WantCode(t, err, pawl.CodeUnavailable)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if failed == 0 || last == 0 {
		t.Fatalf("%d appends failed, up to event %d", failed, last)
	}
	storetest.MustAppend(t, log, storetest.Unit("001-a", last, 2))
	mustClose(t, log)
	log = mustOpen(t, dir)
	defer mustClose(t, log)
	wantRun(t, log, "001-a", int(last)+2)
}
