package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"pawl"
	"pawl/internal/bench"
	benchcmd "pawl/internal/cli/bench"
)

// benchWorld is what pawl bench measures.
func benchWorld() benchcmd.World {
	return benchcmd.World{Sections: bench.Names(), Times: bench.DefaultTimes, Rounds: bench.DefaultRounds, Run: runBench}
}

// runBench measures this program, another one, or two revisions in turn, in a folder that it removes.
func runBench(ctx context.Context, r benchcmd.Request, progress func(string)) (any, error) {
	dir, err := os.MkdirTemp("", "pawl-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	if r.Against != "" {
		return bench.Compare(ctx, bench.Against{
			Dir: dir, Source: r.Dir, Rev: r.Against, Sections: r.Sections, Rounds: r.Rounds, Times: r.Times, Progress: progress,
		})
	}
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	if r.Program != "" {
		if program, err = exec.LookPath(r.Program); err == nil {
			program, err = filepath.Abs(program)
		}
		if err != nil {
			return nil, pawl.Errorf(pawl.CodeInvalid, "--program: %w", err).WithHint("give the path of a pawl program")
		}
	}
	return bench.Measure(ctx, bench.Options{
		Dir: dir, Program: program, Other: r.Program != "", Progress: progress, Sections: r.Sections, Times: r.Times, Delegation: delegation,
	})
}

// delegation is how turns of coding agents are made for a user with an environment.
func delegation(environ []string) bench.Delegation {
	m := &models{environs: newEnvirons(environ), version: version}
	return bench.Delegation{Delegate: m.delegate, Serve: m.serveTools}
}
