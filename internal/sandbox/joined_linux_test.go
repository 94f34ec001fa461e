package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	"pawl/internal/testsize"
)

// joint is a worktree that is joined above a folder with one file.
type joint struct {
	*estate
	pawl.Joined
	folder, lower string
}

// MustJoin joins a worktree of a new project.
func MustJoin(tb testing.TB) *joint {
	tb.Helper()
	box := MustConfined(tb)
	return mustJoinIn(tb, box, MustEstate(tb, box))
}

// mustJoinIn joins a worktree of a project, which has its state folder.
func mustJoinIn(tb testing.TB, box *sandbox.Box, e *estate) *joint {
	tb.Helper()
	j := &joint{estate: e}
	if !j.Joins(filepath.Join(j.estate.folder, "state")) {
		tb.Skip("overlayfs does not work here")
	}
	j.folder = filepath.Join(j.estate.folder, "state", "layered", "001")
	j.lower = filepath.Join(j.estate.folder, "state", "trees", "c0", "lower")
	files := filepath.Join(j.lower, "files")
	if err := os.MkdirAll(files, 0o755); err != nil {
		tb.Fatal(err)
	}
	MustWrite(tb, filepath.Join(files, "below"), "below\n")
	for _, path := range []string{j.lower, files, filepath.Join(files, "below")} {
		MustGive(tb, box, path)
	}
	j.Joined = j.must(tb, j.Rooms)
	return j
}

func (j *joint) must(tb testing.TB, rooms *room.Rooms) pawl.Joined {
	tb.Helper()
	joined, err := rooms.Join(tb.Context(), j.folder, j.lower, pawl.PreparedFor{})
	if err != nil {
		tb.Fatal(err)
	}
	return joined
}

// reach returns the path by which this process now reaches a file of the worktree.
func (j *joint) reach(tb testing.TB, name string) string {
	tb.Helper()
	at, err := j.Reach()
	if err != nil {
		tb.Fatal(err)
	}
	return filepath.Join(at, "files", name)
}

func (j *joint) agent(tb testing.TB) pawl.Room {
	tb.Helper()
	r, err := j.Agent(tb.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: filepath.Join(j.folder, "tree", "files")})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// run runs a shell line as one of our own programs.
func (j *joint) run(ctx context.Context, shell, input string) (string, error) {
	var out bytes.Buffer
	cmd := &exec.Cmd{
		Path: "/bin/sh", Args: []string{"sh", "-c", shell}, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: &out,
		Dir: filepath.Join(j.folder, "tree", "files"), Stdin: strings.NewReader(input),
	}
	err := j.Run(ctx, cmd, 10*time.Second)
	return out.String(), err
}

// Commands, our own programs and this process have the same files before and after the
// room is furnished, and what is below never changes.
func TestJoinedRoom(t *testing.T) {
	j := MustJoin(t)
	MustWrite(t, j.reach(t, "ours"), "ours\n")
	if out, err := j.run(t.Context(), "cat below ours; cat > theirs", "theirs\n"); out != "below\nours\n" || err != nil {
		t.Errorf("a program of ours says %q, %v", out, err)
	}
	r := j.agent(t)
	if got := j.says(t, r, nil, "cat below theirs && rm below && echo agent > agent && pwd"); got != "below\ntheirs\n/work" {
		t.Errorf("a command says %q", got)
	}
	if out, err := j.run(t.Context(), "ls", ""); out != "agent\nours\ntheirs\n" || err != nil {
		t.Errorf("afterwards, a program of ours says %q, %v", out, err)
	}
	if got := j.says(t, r, nil, "cat agent"); got != "agent" {
		t.Errorf("after a program of ours, a command says %q", got)
	}
	if got, err := r.Tree(); err != nil || got != j.reach(t, "") {
		t.Errorf("the room's tree is %s, %v, want %s", got, err, j.reach(t, ""))
	}
	if content, err := os.ReadFile(filepath.Join(j.lower, "files", "below")); err != nil || string(content) != "below\n" {
		t.Errorf("below is %q, %v", content, err)
	}
	if out, err := j.run(t.Context(), "ls / | grep -c home", ""); out != "1\n" || err != nil {
		t.Errorf("our own programs do not see the host: %q, %v", out, err)
	}

	// With the room, what is joined ends, and is joined again when it is wanted.
	if err := j.Leave("001", "001"); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Reach(); pawl.CodeOf(err) != pawl.CodeState {
		t.Errorf("after Leave the error is %v", err)
	}
	j.Joined = j.must(t, j.Rooms)
	if content, err := os.ReadFile(j.reach(t, "agent")); err != nil || string(content) != "agent\n" {
		t.Errorf("joined again: %q, %v", content, err)
	}
	if err := j.Part(j.folder); err != nil {
		t.Fatal(err)
	}
	if found, err := os.ReadDir(filepath.Join(j.folder, "tree")); err != nil || len(found) != 0 {
		t.Errorf("the folder has %v, %v", found, err)
	}
}

// How one of our programs ended is reported as it was.
func TestJoinedProgram(t *testing.T) {
	j := MustJoin(t)
	for _, test := range []struct {
		shell string
		want  pawl.ExitError
	}{
		{"exit 3", pawl.ExitError{Code: 3}},
		{"kill -KILL $$", pawl.ExitError{Code: -1, Signaled: true}},
	} {
		_, err := j.run(t.Context(), test.shell, "")
		if e, ok := errors.AsType[*pawl.ExitError](err); !ok || *e != test.want {
			t.Errorf("%s: error is %#v, want %+v", test.shell, err, test.want)
		}
	}
	big := strings.Repeat("0123456789abcdef", 1<<16)
	if out, err := j.run(t.Context(), "cat", big); out != big || err != nil {
		t.Errorf("cat of %d bytes gives %d, %v", len(big), len(out), err)
	}
	if out, err := j.run(t.Context(), "exec <&-; echo done", big); out != "done\n" || err != nil {
		t.Errorf("a program that does not read says %q, %v", out, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	watch := &onWrite{do: cancel}
	cmd := &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", `trap 'echo asked; exit 5' TERM; echo up; while :; do sleep 1; done`}, Dir: "/", Stdout: watch}
	err := j.Run(ctx, cmd, time.Minute)
	if e, ok := errors.AsType[*pawl.ExitError](err); !ok || e.Code != 5 || watch.said.String() != "up\nasked\n" {
		t.Errorf("error is %v, and it said %q", err, watch.said.String())
	}
	// A program that succeeds when it is asked to end has been ended all the same, together
	// with what it started, or its output would not end.
	stopped, stop := context.WithCancel(t.Context())
	watch = &onWrite{do: stop}
	cmd = &exec.Cmd{Path: "/bin/sh", Args: []string{"sh", "-c", `trap 'exit 0' TERM; sleep 3600 & echo up; wait`}, Dir: "/", Stdout: watch}
	if err := j.Run(stopped, cmd, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if _, err := j.run(ctx, "echo no > no", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

// The control group of what is joined may come after its files, but not after its first program: one
// that starts before that is not limited and survives the group.
func TestJoinedProgramIsInTheGroup(t *testing.T) {
	if !strings.Contains(MustConfined(t).Describe(), "cgroup") {
		t.Skip("there are no control groups")
	}
	for range testsize.Cases(1, 5) {
		j := MustJoin(t)
		if out, err := j.run(t.Context(), "cat /proc/self/cgroup", ""); err != nil || !strings.Contains(out, "-room-") {
			t.Errorf("a program of ours is in the groups %q, %v", out, err)
		}
		if err := j.Part(j.folder); err != nil {
			t.Error(err)
		}
	}
}

// A room whose control group cannot be made says so, and the next attempt starts anew.
func TestRoomsWithoutTheirGroup(t *testing.T) {
	for name, open := range map[string]func(j *joint) error{
		"joined": func(j *joint) (err error) {
			for err == nil { // until the holder has ended
				_, err = j.Reach()
			}
			return err
		},
		"program": func(j *joint) error {
			_, err := j.run(t.Context(), "true", "")
			return err
		},
		"whole": func(j *joint) error {
			_, err := MustAgent(t, j.Rooms, j.dir).Run(t.Context(), pawl.Command{Shell: "true"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range testsize.Cases(1, 5) {
				box := MustConfined(t)
				j := mustJoinIn(t, box, MustEstate(t, box))
				taken, err := box.TakeNextGroup()
				if taken == nil || err != nil {
					t.Skipf("there are no control groups: %v", err)
				}
				if err := open(j); pawl.CodeOf(err) != pawl.CodeUnavailable || !strings.Contains(err.Error(), "make control group room-") {
					t.Errorf("error is %v", err)
				}
				if err := taken.Close(); err != nil {
					t.Fatal(err)
				}
				if out, err := j.run(t.Context(), "cat below", ""); out != "below\n" || err != nil {
					t.Errorf("afterwards a program of ours says %q, %v", out, err)
				}
				if err := j.Part(j.folder); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// onWrite does something when the first bytes are written to it.
type onWrite struct {
	said bytes.Buffer
	do   func()
}

func (w *onWrite) Write(p []byte) (int, error) {
	n, err := w.said.Write(p)
	w.do()
	return n, err
}

// When the holder of what is joined dies, another takes its place, furnished as it was.
func TestJoinedHolderThatDied(t *testing.T) {
	for _, furnished := range []bool{false, true} {
		j := MustJoin(t)
		MustWrite(t, j.reach(t, "file"), "kept\n")
		if furnished {
			if got := j.says(t, j.agent(t), nil, "cat file; echo more > $HOME/more"); got != "kept" {
				t.Fatalf("a command says %q", got)
			}
		}
		before := j.reach(t, "file")
		pid, err := strconv.Atoi(strings.Split(before, "/")[2])
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		out, err := j.run(t.Context(), "cat file", "")
		for err != nil && pawl.CodeOf(err) == pawl.CodeUnavailable { // it dies while it is asked
			out, err = j.run(t.Context(), "cat file", "")
		}
		if out != "kept\n" || err != nil {
			t.Errorf("a program of ours says %q, %v", out, err)
		}
		if after := j.reach(t, "file"); after == before {
			t.Errorf("it is still at %s", after)
		}
		if got := j.says(t, j.agent(t), nil, "cat file $HOME/more 2> /dev/null; true"); furnished && got != "kept\nmore" || !furnished && got != "kept" {
			t.Errorf("a command says %q", got)
		}
	}
}

// Layers are joined only once: a second attempt is refused.
func TestJoinedOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("the second one waits for ten seconds")
	}
	j := MustJoin(t)
	MustWrite(t, j.reach(t, "file"), "kept\n")
	other := newRooms(MustConfined(t), j.estate.folder)
	defer other.Close()
	if _, err := j.must(t, other).Reach(); err == nil || !strings.Contains(err.Error(), "another process has it mounted") {
		t.Errorf("error is %v", err)
	}
	if err := j.Part(j.folder); err != nil {
		t.Fatal(err)
	}
	if at, err := j.must(t, other).Reach(); err != nil {
		t.Errorf("after the first let it go: %v", err)
	} else if content, err := os.ReadFile(filepath.Join(at, "files", "file")); err != nil || string(content) != "kept\n" {
		t.Errorf("the file is %q, %v", content, err)
	}
}

// Only a folder that no room writes to may be the lower one.
func TestJoinedAboveCheckoutsAlone(t *testing.T) {
	j := MustJoin(t)
	for _, lower := range []string{filepath.Join(j.estate.folder, "dir"), filepath.Join(j.estate.folder, "state", "rooms", "agents"), "/"} {
		if _, err := j.Join(t.Context(), filepath.Join(j.estate.folder, "state", "layered", "002"), lower, pawl.PreparedFor{}); err == nil {
			t.Errorf("%s may be below", lower)
		}
	}
}

// A room over joined files gets its limits when it is furnished: lower ones or higher
// ones than the defaults.
func TestJoinedRoomHasItsLimits(t *testing.T) {
	for name, limits := range map[string]pawl.RoomLimits{
		"Lower":  {Processes: 64, MemoryPercent: 1, FileSize: 1 << 20},
		"Higher": {Processes: 5000, MemoryPercent: 95, FileSize: 20 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			j := MustJoin(t)
			j.reach(t, "") // what is joined is there before there is a room
			r, err := j.Agent(t.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: filepath.Join(j.folder, "tree", "files"), Limits: limits})
			if err != nil {
				t.Fatal(err)
			}
			result := MustRun(t, r, pawl.Command{Shell: "exec head -c 2000000 /dev/zero > big"})
			want := pawl.ResourceMet{Resource: pawl.ResourceFileSize, Max: 1 << 20}
			if met := slices.Contains(result.Met, want); met != (name == "Lower") {
				t.Errorf("exit code %d, limits met: %v", result.ExitCode, result.Met)
			}
			if name == "Higher" || strings.Contains(MustConfined(t).Describe(), "no control groups") {
				return
			}
			result = MustRun(t, r, pawl.Command{Shell: `i=0; while [ $i -lt 200 ]; do sleep 10 & i=$((i+1)); done`})
			want = pawl.ResourceMet{Resource: pawl.ResourceProcesses, Max: 64}
			for tries := 1; len(result.Met) == 0 && tries < 5; tries++ { // as in TestLimitsAreTold
				result = MustRun(t, r, pawl.Command{Shell: `i=0; while [ $i -lt 200 ]; do sleep 10 & i=$((i+1)); done`})
			}
			if !slices.Contains(result.Met, want) {
				t.Errorf("exit code %d, limits met: %v", result.ExitCode, result.Met)
			}
		})
	}
}
