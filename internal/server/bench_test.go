package server

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
)

// ticking is a run whose events come at a steady pace.
type ticking struct {
	fake
	mu   sync.Mutex
	log  []pawl.Event
	more chan struct{}
	// watching is told of each watch that begins.
	watching func()
}

func (s *ticking) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := pause(pawl.Seq(len(s.log)+1), strings.Repeat("x", 200))
	e.Time = time.Now()
	s.log = append(s.log, e)
	close(s.more)
	s.more = make(chan struct{})
}

func (s *ticking) after(seq pawl.Seq) ([]pawl.Event, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log[min(int(seq), len(s.log)):], s.more
}

func (s *ticking) Events(_ context.Context, _ pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		events, _ := s.after(after)
		for _, e := range events {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (s *ticking) Watch(ctx context.Context, _ pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(yield func(pawl.Update, error) bool) {
		if s.watching != nil {
			s.watching()
		}
		for {
			events, more := s.after(after)
			for _, e := range events {
				after = e.Seq
				if !yield(pawl.Update{Event: &e}, nil) {
					return
				}
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}
}

// How long it takes until an event has reached the watchers of a run, some of whom
// do not read: the p99 over all who do.
func BenchmarkWatchers(b *testing.B) {
	const watchers, stalled, perSecond = 1000, 10, 50
	s := &ticking{more: make(chan struct{})}
	dir := b.TempDir()
	socket := filepath.Join(dir, "s", "pawl.sock")
	ctx, cancel := context.WithCancel(b.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- Serve(ctx, socket, s, nil, func() { close(ready) }) }()
	<-ready
	late := make(chan []time.Duration, watchers)
	var conns []net.Conn
	var joined sync.WaitGroup
	for i := range watchers {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			b.Fatal(err)
		}
		conns = append(conns, conn)
		fmt.Fprintf(conn, "GET /v1/runs/001-a/watch HTTP/1.1\r\nHost: pawl\r\n\r\n")
		if i < stalled {
			continue
		}
		joined.Add(1)
		go func() {
			in := bufio.NewReader(conn)
			var got []time.Duration
			for begun := false; ; {
				line, err := in.ReadSlice('\n')
				if err != nil {
					late <- got
					return
				}
				if !begun && strings.HasPrefix(string(line), ": pawl") {
					begun = true
					joined.Done()
				}
				if _, text, ok := strings.Cut(string(line), `"time":"`); ok {
					text, _, _ = strings.Cut(text, `"`)
					at, err := time.Parse(time.RFC3339Nano, text)
					if err != nil {
						b.Error(err)
					}
					got = append(got, time.Since(at))
				}
			}
		}()
	}
	joined.Wait()
	b.ResetTimer()
	for range b.N {
		s.tick()
		time.Sleep(time.Second / perSecond) //nolint:forbidigo // the pace of what is measured
	}
	time.Sleep(300 * time.Millisecond) //nolint:forbidigo // the last ones arrive
	b.StopTimer()
	for _, c := range conns {
		_ = c.Close()
	}
	var all []time.Duration
	for range watchers - stalled {
		all = append(all, <-late...)
	}
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
	slices.Sort(all)
	if want := b.N * (watchers - stalled); len(all) != want {
		b.Errorf("%d of %d events arrived", len(all), want)
	}
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
}

// manyRuns is a project with many runs.
type manyRuns struct {
	fake
	runs []pawl.RunInfo
}

func (m *manyRuns) Runs(context.Context) ([]pawl.RunInfo, error) { return m.runs, nil }

func runs(n int) *manyRuns {
	m := &manyRuns{}
	for i := range n {
		m.runs = append(m.runs, pawl.RunInfo{ID: pawl.RunID(fmt.Sprintf("%03d-some-task-or-other", i)), Task: i, Title: "Some task or other", Recipe: "taskloop",
			Status: pawl.StatusEnded, Outcome: pawl.OutcomeComplete, Branch: "pawl/x", Iteration: 3, Max: 10, Cost: 12, Tokens: 1222, Started: time.Now(), Updated: time.Now(), Seq: 100})
	}
	return m
}
