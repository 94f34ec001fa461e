package main

import (
	"context"
	"fmt"
	"os"

	"pawl/internal/bench"
	benchcmd "pawl/internal/cli/bench"
)

// benchWorld is what pawl bench measures, with this very program.
func benchWorld() benchcmd.World {
	return benchcmd.World{Sections: bench.Names(), Times: bench.DefaultTimes, Run: func(ctx context.Context, sections []string, times int, progress func(string)) (any, error) {
		dir, err := os.MkdirTemp("", "pawl-bench-")
		if err != nil {
			return nil, fmt.Errorf("make a folder: %w", err)
		}
		defer os.RemoveAll(dir)
		program, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program: %w", err)
		}
		return bench.Measure(ctx, bench.Options{Dir: dir, Program: program, Progress: progress, Sections: sections, Times: times, Delegation: delegation})
	}}
}

// delegation is how turns of coding agents are made for a user with an environment.
func delegation(environ []string) bench.Delegation {
	m := &models{environs: newEnvirons(environ), version: version}
	return bench.Delegation{Delegate: m.delegate, Serve: m.serveTools}
}
