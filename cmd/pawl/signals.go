package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"pawl/internal/cli"
)

// signals brings Ctrl-C and its like to whoever wants them. Nobody in
// particular does at first: then the first one ends the command's context and
// the second the process.
type signals struct {
	mu     sync.Mutex
	to     chan os.Signal // nil: nobody in particular
	cancel context.CancelFunc
	asked  bool
}

// watchSignals starts bringing signals. One that was ignored when the program
// started, as nohup and shells in the background have it, stays ignored.
func watchSignals(cancel context.CancelFunc) *signals {
	s := &signals{cancel: cancel}
	in := make(chan os.Signal, 4)
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(sig) {
			signal.Notify(in, sig)
		}
	}
	go func() {
		for sig := range in {
			s.bring(sig)
		}
	}()
	return s
}

func (s *signals) bring(sig os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.to != nil:
		select {
		case s.to <- sig:
		default: // two wait already
		}
	case s.asked:
		os.Exit(cli.ExitInterrupted)
	default:
		s.asked = true
		s.cancel()
	}
}

// interrupts brings signals to the caller until stop is called.
func (s *signals) interrupts() (to <-chan os.Signal, stop func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = make(chan os.Signal, 2)
	return s.to, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.to = nil
	}
}
