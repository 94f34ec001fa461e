package project_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pawl"
	"pawl/internal/project"
)

// asOwner makes this program one that takes the project in the folder, says
// what came of it, and holds it until its input ends.
const asOwner = "PAWL_TEST_OWNER"

func TestMain(m *testing.M) {
	dir := os.Getenv(asOwner)
	if dir == "" {
		os.Exit(m.Run())
	}
	lock, err := project.Project{Dir: dir}.Lock("other")
	if err != nil {
		fmt.Println(pawl.CodeOf(err), err)
		return
	}
	fmt.Println("has it")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := lock.Release(); err != nil {
		fmt.Println(err)
	}
}

// owner is another process that tried to take the project.
type owner struct {
	cmd  *exec.Cmd
	in   io.Closer
	said string
}

// start starts it and waits until it has said what came of it.
func start(tb testing.TB, p project.Project) (*owner, error) {
	o := &owner{cmd: exec.Command(os.Args[0])}
	o.cmd.Env = append(os.Environ(), asOwner+"="+p.Dir)
	in, err := o.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	o.in = in
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := o.cmd.Start(); err != nil {
		return nil, err
	}
	tb.Cleanup(o.kill)
	line, err := bufio.NewReader(out).ReadString('\n')
	o.said = strings.TrimSpace(line)
	return o, err
}

func mustStart(tb testing.TB, p project.Project) *owner {
	tb.Helper()
	o, err := start(tb, p)
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func (o *owner) kill() {
	_ = o.cmd.Process.Kill()
	_ = o.cmd.Wait()
}

func (o *owner) leave(tb testing.TB) {
	tb.Helper()
	if err := errors.Join(o.in.Close(), o.cmd.Wait()); err != nil {
		tb.Fatal(err)
	}
}

func mustLock(tb testing.TB, p project.Project) *project.Lock {
	tb.Helper()
	lock, err := p.Lock("test")
	if err != nil {
		tb.Fatal(err)
	}
	return lock
}

func mustHolder(tb testing.TB, p project.Project) (project.Holder, bool) {
	tb.Helper()
	h, held, err := p.Holder(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return h, held
}

func TestLock(t *testing.T) {
	t.Run("NobodyHoldsANewProject", func(t *testing.T) {
		p := mustAt(t, t.TempDir(), "/src/.git")
		if h, held := mustHolder(t, p); held {
			t.Errorf("held by %+v", h)
		}
	})
	t.Run("SaysWhoHoldsIt", func(t *testing.T) {
		p := mustAt(t, t.TempDir(), "/src/.git")
		o := mustStart(t, p)
		if o.said != "has it" {
			t.Fatal(o.said)
		}
		h, held := mustHolder(t, p)
		if !held || h.Pid != o.cmd.Process.Pid || h.Version != "other" || h.Socket != p.Socket() || h.Started.IsZero() {
			t.Errorf("held %v by %+v, want process %d", held, h, o.cmd.Process.Pid)
		}
		_, err := p.Lock("test")
		if want := fmt.Sprintf("process %d has this project", h.Pid); pawl.CodeOf(err) != pawl.CodeConflict || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
		o.leave(t)
		if h, held := mustHolder(t, p); held {
			t.Errorf("given back, and held by %+v", h)
		}
		if info, err := os.Stat(filepath.Join(p.Dir, "writer.lock")); err != nil || info.Size() != 0 || info.Mode().Perm() != 0o600 {
			t.Errorf("the lock file still says something, or to others: %v, %v", info, err)
		}
		if err := mustLock(t, p).Release(); err != nil {
			t.Error(err)
		}
	})
	t.Run("AKilledProcessHoldsNothing", func(t *testing.T) {
		p := mustAt(t, t.TempDir(), "/src/.git")
		mustStart(t, p).kill()
		if h, held := mustHolder(t, p); held {
			t.Errorf("held by %+v", h)
		}
		lock := mustLock(t, p)
		if h, held := mustHolder(t, p); !held || h.Pid != os.Getpid() {
			t.Errorf("held %v by %+v", held, h)
		}
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	})
	t.Run("ReleasingTwiceTakesItFromNobody", func(t *testing.T) {
		p := mustAt(t, t.TempDir(), "/src/.git")
		lock := mustLock(t, p)
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
		o := mustStart(t, p)
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
		if h, held := mustHolder(t, p); !held || h.Pid != o.cmd.Process.Pid {
			t.Errorf("held %v by %+v", held, h)
		}
	})
	t.Run("AClaimThatIsBeingWrittenIsWaitedFor", func(t *testing.T) {
		p := mustAt(t, t.TempDir(), "/src/.git")
		lock := mustLock(t, p)
		name := filepath.Join(p.Dir, "writer.lock")
		mustWrite(t, name, `{"pid": 1`)
		if _, held, err := p.Holder(t.Context()); !held || pawl.CodeOf(err) != pawl.CodeConflict {
			t.Errorf("half a claim: held %v, %v", held, err)
		}
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	})
}

// Of many that reach for a project at once, one gets it, also while others ask
// who holds it, after a crash as well as before. TRUST row 21
func TestLockRace(t *testing.T) {
	p := mustAt(t, t.TempDir(), "/src/.git")
	for round := range 5 {
		mustStart(t, p).kill() // leaves a claim, so that whoever asks has to try the lock
		asking, stop := context.WithCancel(t.Context())
		var askers, takers sync.WaitGroup
		for range 2 {
			askers.Go(func() {
				for asking.Err() == nil {
					if _, _, err := p.Holder(context.Background()); err != nil && pawl.CodeOf(err) != pawl.CodeConflict {
						t.Error(err)
						return
					}
				}
			})
		}
		owners := make([]*owner, 3)
		for i := range owners {
			takers.Go(func() {
				var err error
				if owners[i], err = start(t, p); err != nil {
					t.Error(err)
				}
			})
		}
		takers.Wait()
		stop()
		askers.Wait()
		if t.Failed() {
			return
		}
		won := 0
		for _, o := range owners {
			if o.said == "has it" {
				won++
			} else if !strings.HasPrefix(o.said, string(pawl.CodeConflict)+" ") {
				t.Errorf("round %d: %s", round, o.said)
			}
			o.kill()
		}
		if won != 1 {
			t.Errorf("round %d: %d processes have the project", round, won)
		}
	}
}

// While a lock is taken over from a holder that has not given it back, its file is never empty, which
// would mean that it was given back. In the end it names the new holder alone.
func TestLockTakenOverIsNeverEmpty(t *testing.T) {
	p := mustAt(t, t.TempDir(), "/src/.git")
	file := filepath.Join(p.Dir, "writer.lock")
	take := func(version string) {
		lock, err := p.Lock(version)
		if err != nil {
			t.Fatal(err)
		}
		if h, ok := p.LastHolder(); !ok || h.Version != version {
			t.Fatalf("the lock file says %+v, %v", h, ok)
		}
		if err := lock.Leave(); err != nil {
			t.Fatal(err)
		}
	}
	take("the first one, with a longer name")
	taking, stop := context.WithCancel(t.Context())
	var looking sync.WaitGroup
	looking.Go(func() {
		for taking.Err() == nil {
			if info, err := os.Stat(file); err != nil || info.Size() == 0 {
				t.Errorf("the lock file is empty: %v", err)
				return
			}
		}
	})
	for i := range 500 {
		take(strings.Repeat("x", i%7))
	}
	stop()
	looking.Wait()
}
