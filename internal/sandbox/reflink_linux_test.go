package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"pawl"
	"pawl/internal/room"
)

// What holds for copies holds for copies that share blocks: the tests of rooms once more, on
// a file system that can, in a mount namespace of its own.
func TestOnAFileSystemThatSharesBlocks(t *testing.T) {
	if testing.Short() {
		t.Skip("makes a file system and runs the tests of rooms again: make test-all runs it")
	}
	MustConfined(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a file system that shares blocks")
	}
	if _, err := exec.LookPath("mkfs.xfs"); err != nil {
		t.Skip("mkfs.xfs is not installed")
	}
	image, at := filepath.Join(t.TempDir(), "image"), t.TempDir()
	if out, err := exec.Command("mkfs.xfs", "-q", "-d", "file,name="+image+",size=1g").CombinedOutput(); err != nil {
		t.Skipf("mkfs.xfs: %v: %s", err, out)
	}
	const which, not = "Rooms|Cache|Layer|Reach|Give|Cheats|Markers|Copies", "/(Overlay|Unconfined)$|/Leftovers/Overlay$|OwnRoom"
	cmd := exec.Command("sh", "-c", `mount -o loop "$1" "$2" && chmod 1777 "$2" || exit 99; shift 2; exec "$@"`, "sh", image, at,
		MustSelf(t), "-test.run", which, "-test.skip", not, "-test.short", "-test.v")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "TMPDIR="+at)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() == 99 {
		t.Skipf("XFS cannot be mounted here: %s", out)
	}
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	for _, test := range []string{"TestCopiesShareBlocks ", "TestRoomsLeaveNothingBehind/Copies ", "TestCheatsDoNotReachGates/Leftovers/Copies ", "TestMarkersAnywhereStayInTheirRoom/Copies "} {
		if !strings.Contains(string(out), "--- PASS: "+test) {
			t.Errorf("%s did not run:\n%s", test, out)
		}
	}
}

// Where the file system can share blocks, a copied layer takes no space, and what a room
// writes to its copy is in no other place.
func TestCopiesShareBlocks(t *testing.T) {
	box := MustCopying(t)
	e := MustEstate(t, box)
	const size = 64 << 20
	file := filepath.Join(e.spec.Tree, "file")
	MustWrite(t, file, "source\n")
	if !canShare(t, file) {
		t.Skip("the file system cannot share blocks")
	}
	MustWrite(t, file, strings.Repeat("source\n", size/7))
	if got := room.Mechanism(box, e.folder); got != "copies that share blocks" {
		t.Errorf("the mechanism is called %q", got)
	}
	before := freeSpace(t, e.folder)
	r, err := e.Gate(t.Context(), e.spec)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if took := before - freeSpace(t, e.folder); took > size/4 {
		t.Errorf("a copy of %d bytes took %d", size, took)
	}
	MustRun(t, r, pawl.Command{Shell: `printf changed | dd of=file conv=notrunc 2>/dev/null`})
	for range 2 {
		if got := e.gate(t, "head -c 7 file"); got != "source" {
			t.Errorf("another room reads %q", got)
		}
	}
	if got := MustRun(t, r, pawl.Command{Shell: "head -c 7 file"}); string(got.Output) != "changed" {
		t.Errorf("the room reads %q", got.Output)
	}
}

// canShare reports whether a copy of a file can share its blocks.
func canShare(t *testing.T, path string) bool {
	t.Helper()
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(filepath.Join(filepath.Dir(filepath.Dir(path)), "share"))
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	return unix.IoctlFileClone(int(out.Fd()), int(in.Fd())) == nil
}

// freeSpace returns how many bytes a file system has left once all that was written is on it.
func freeSpace(t *testing.T, dir string) int64 {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		t.Fatal(err)
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		t.Fatal(err)
	}
	return int64(stat.Bfree) * stat.Bsize
}
