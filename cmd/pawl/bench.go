package main

import (
	"context"
	"fmt"
	"os"

	"pawl/internal/bench"
)

// measure is what pawl bench prints.
func measure(ctx context.Context, progress func(string)) (any, error) {
	dir, err := os.MkdirTemp("", "pawl-bench-")
	if err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return bench.Measure(ctx, bench.Options{Dir: dir, Program: program, Progress: progress})
}
