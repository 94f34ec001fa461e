// Package delegatetest has what tests of agents share: a room that a program can run in, and test
// programs that play an agent.
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

// playWord is the first argument by which a test program plays an agent.
const playWord = "__play"

// Main makes a test program play an agent if it was started by [Play], and its room's helpers.
// Otherwise it runs the tests and returns their exit code. Agents are known by their names.
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

// Play returns what starts an agent that the test program plays.
func Play(tb testing.TB, agent string) []string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return []string{self, playWord, agent}
}

// Room opens a room that confines nothing, over a new folder.
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

// Turn has an agent take a turn in a room that confines nothing. Change changes what it is told, which is
// to mend something as if it were confined; it may be nil.
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

// Updates collects what an agent says and does.
type Updates struct {
	mu  sync.Mutex
	all []pawl.AgentUpdate
}

// Tell takes one update. That an agent is only alive is not kept.
func (u *Updates) Tell(x pawl.AgentUpdate) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if x.Kind != pawl.UpdateAlive {
		u.all = append(u.all, x)
	}
}

// All returns what was told so far, without pieces of texts.
func (u *Updates) All() []pawl.AgentUpdate {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(u.all), func(x pawl.AgentUpdate) bool { return x.Partial })
}
