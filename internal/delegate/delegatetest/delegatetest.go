// Package delegatetest provides a room and fake agents for tests. A fake agent is a function that the
// test binary runs in a process of its own.
package delegatetest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"pawl"
	"pawl/internal/room"
	"pawl/internal/sandbox"
	"pawl/internal/sandbox/helper"
)

// playWord is the first argument of a test binary that plays an agent.
const playWord = "__play"

// Main is to be called by TestMain and returns the exit code. It runs the agent that [Play] names or a
// helper of the sandbox if the test binary was started as one, and the tests otherwise.
func Main(m *testing.M, agents map[string]func()) int {
	if len(os.Args) > 1 {
		if code, ok := helper.Run(os.Args); ok {
			return code
		}
		if os.Args[1] == playWord {
			agents[os.Args[2]]()
			return 0
		}
	}
	return m.Run()
}

// Play returns the command that runs one of the agents given to [Main].
func Play(tb testing.TB, agent string) []string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return []string{self, playWord, agent}
}

// Room returns a room over a new folder that does not confine commands.
func Room(tb testing.TB) pawl.Room {
	tb.Helper()
	folder, err := filepath.EvalSymlinks(tb.TempDir())
	if err != nil {
		tb.Fatal(err)
	}
	dir := filepath.Join(folder, "dir")
	if err := os.Mkdir(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	rooms := room.New(room.Options{
		State: filepath.Join(folder, "state"), Enforcer: sandbox.Unconfined(), Visible: func(string) []string { return nil },
		Host: func(context.Context) room.Host { return room.NewHost(nil, "") },
	})
	tb.Cleanup(func() {
		if err := rooms.Close(); err != nil {
			tb.Error(err)
		}
	})
	r, err := rooms.Agent(tb.Context(), pawl.AgentRoom{Run: "001", Name: "001", Tree: dir})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// Turn runs a turn of an agent in a new room, with the prompt "mend it". Change may adjust the turn; it
// may be nil.
func Turn(tb testing.TB, a pawl.Agent, change func(*pawl.AgentTurn)) (pawl.AgentReply, []pawl.AgentUpdate, error) {
	tb.Helper()
	in := pawl.AgentTurn{Prompt: "mend it", Access: pawl.AgentWrites, Confined: true, Limits: pawl.AgentLimits{Silence: time.Minute, ToolTime: time.Minute}}
	if change != nil {
		change(&in)
	}
	var told Updates
	reply, err := a.Turn(tb.Context(), Room(tb), in, told.Tell)
	return reply, told.All(), err
}

// Updates collects updates.
type Updates struct {
	mu  sync.Mutex
	all []pawl.AgentUpdate
}

// Tell adds an update, except those of kind [pawl.UpdateAlive].
func (u *Updates) Tell(x pawl.AgentUpdate) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if x.Kind != pawl.UpdateAlive {
		u.all = append(u.all, x)
	}
}

// All returns the updates so far, without partial ones.
func (u *Updates) All() []pawl.AgentUpdate {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(u.all), func(x pawl.AgentUpdate) bool { return x.Partial })
}
