package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"pawl/internal/room"
	"pawl/internal/sandbox/cgroup"
	"pawl/internal/sandbox/helper"
)

// probed is a sandbox that tests share.
var probed = sync.OnceValues(func() (*Box, error) { return Probe(context.Background()) })

// mustGroups returns a sandbox with control groups.
func mustGroups(tb testing.TB) *Box {
	tb.Helper()
	box, err := probed()
	if err != nil || box.groups == nil {
		tb.Skipf("there is no sandbox with control groups: %v", err)
	}
	return box
}

// The next use of a room whose holder was ended because it had no control group fails and says why. The one
// after that starts another holder.
func TestOpenAfterAHolderWithoutAGroup(t *testing.T) {
	r := &heldRoom{box: mustGroups(t), d: &room.Description{Name: "room"}}
	defer r.Close()
	h, err := r.open(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	<-h.enclosed
	h.groupErr = errors.New("no group")
	h.close()
	if _, err := r.open(t.Context(), true); err == nil || !strings.Contains(err.Error(), "open the room room: no group") {
		t.Errorf("error is %v", err)
	}
	if again, err := r.open(t.Context(), true); err != nil || again == h {
		t.Errorf("the next attempt gives the same holder: %v, %v", again == h, err)
	}
}

// A program waits for its holder to be in the control group, and does not start if that fails.
func TestStartAwaitsTheGroup(t *testing.T) {
	r := &heldRoom{box: mustGroups(t), d: &room.Description{Name: "room"}}
	defer r.Close()
	h, err := r.open(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	waiting := &holder{box: h.box, socket: h.socket, processes: make(map[uint64]*process), enclosed: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		_, err := waiting.start(helper.Start{Argv: []string{"/bin/true"}, Dir: "/"}, nil, io.Discard, io.Discard)
		started <- err
	}()
	waiting.groupErr = errors.New("no group")
	close(waiting.enclosed)
	if err := <-started; err == nil || err.Error() != "no group" {
		t.Errorf("error is %v", err)
	}
}

// A room's control group is removed when the room is closed.
func TestCloseRemovesTheGroup(t *testing.T) {
	box := mustGroups(t)
	r := &heldRoom{box: box, d: &room.Description{Name: "room"}}
	if _, err := r.open(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("room-%d", holders.Load())
	if g, err := box.groups.New(name, cgroup.Limits{}); err == nil {
		t.Errorf("while the room is open it has no group %s: %v", name, g.Close())
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	g, err := box.groups.New(name, cgroup.Limits{})
	if err != nil {
		t.Fatalf("the group is still there: %v", err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
}

// A holder that has ended can be put into its control group as long as nobody has waited for it.
func TestEncloseOneThatHasEnded(t *testing.T) {
	h := &holder{box: mustGroups(t), cmd: exec.Command("/bin/true"), enclosed: make(chan struct{})}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var ended unix.Siginfo
	if err := unix.Waitid(unix.P_PID, h.cmd.Process.Pid, &ended, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		t.Fatal(err)
	}
	h.enclose(nil)
	group, err := h.enclosure()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.cmd.Wait(), group.Close()); err != nil {
		t.Error(err)
	}
}
