package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pawl"
	"pawl/internal/client"
	"pawl/internal/project"
)

// Watchers is how late events of one run reach those who watch it over the socket,
// some of whom do not read at all.
type Watchers struct {
	Watchers int `json:"watchers"`
	Stalled  int `json:"stalled"`
	Events   int `json:"events"`
	Bytes    int `json:"bytes_each"` // as they are sent, at the median
	// P50 and P99 are times from an event's decision, so with the time until it is
	// durable, until a watcher has read it.
	P50        time.Duration `json:"p50_ns"`
	P99        time.Duration `json:"p99_ns"`
	Max        time.Duration `json:"max_ns"`
	PerSecond  float64       `json:"events_per_second"`
	Lost       int           `json:"lost"`       // events that a watcher missed, summed over those who read
	Duplicated int           `json:"duplicated"` // that one read twice, or out of order
}

// MeasureWatchers lets a run of a daemon be watched while it is told something again
// and again: each is an event of about 2 kB.
func MeasureWatchers(ctx context.Context, o Options, watchers, stalled, events int, pace time.Duration) (w Watchers, err error) {
	w = Watchers{Watchers: watchers, Stalled: stalled, Events: events}
	m, err := newModelServer(ctx)
	if err != nil {
		return w, err
	}
	defer m.close()
	u, err := newUser(o.Program, o.Dir)
	if err != nil {
		return w, err
	}
	defer u.remove()
	u.model = m.url
	p, err := u.layProject(ctx, "repo", 1)
	if err != nil {
		return w, err
	}
	d, err := u.serve()
	if err != nil {
		return w, err
	}
	defer func() {
		d.kill()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, d.said.Bytes())
		}
	}()
	if _, err := d.Open(ctx, p.Repo.Root); err != nil {
		return w, err
	}
	s, err := d.Project(ctx, filepath.Base(p.Dir))
	if err != nil {
		return w, err
	}
	run, err := s.Start(ctx, pawl.StartRequest{Goal: "bench goal 1", Flags: pawl.StartFlags{
		Model: []string{"openai-chat/bench"}, Complexity: new(1), Unsandboxed: true,
	}})
	if err != nil {
		return w, err
	}
	if _, err := m.heard(ctx, 1); err != nil {
		return w, err
	}
	return w, w.measure(ctx, d.Daemon, p, s, run, pace)
}

func (w *Watchers) measure(ctx context.Context, d *client.Daemon, p project.Project, s pawl.Service, run pawl.RunInfo, pace time.Duration) error {
	address := fmt.Sprintf("/v1/projects/%s/runs/%s/watch", filepath.Base(p.Dir), run.ID)
	info, err := d.About(ctx)
	if err != nil {
		return err
	}
	loop, err := rootLoop(ctx, s, run.ID)
	if err != nil {
		return err
	}
	var all []*watcher
	var reading sync.WaitGroup
	defer func() {
		for _, v := range all {
			_ = v.conn.Close()
		}
		reading.Wait()
	}()
	for i := range w.Watchers {
		v, err := watch(ctx, info.Socket, address)
		if err != nil {
			return err
		}
		all = append(all, v)
		if i < w.Stalled {
			close(v.begun)
			continue
		}
		reading.Go(v.read)
	}
	for _, v := range all {
		<-v.begun
	}
	text := strings.Repeat(`"`, 800) + strings.Repeat("x", 200)
	from := time.Now()
	tick := time.NewTicker(pace)
	defer tick.Stop()
	told := make(chan error, w.Events)
	for range w.Events {
		go func() {
			told <- s.Steer(ctx, run.ID, pawl.Steering{Verb: pawl.SteerSignal, Signal: &pawl.Signaling{Signal: pawl.SignalInfo, To: loop, Text: text}})
		}()
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	for range w.Events {
		if err := <-told; err != nil {
			return err
		}
	}
	w.PerSecond = float64(w.Events) / time.Since(from).Seconds()
	return w.judge(ctx, s, run.ID, all)
}

// judge ends the run, so that every watcher comes to its end, and compares what they
// have seen with the log.
func (w *Watchers) judge(ctx context.Context, s pawl.Service, run pawl.RunID, all []*watcher) error {
	if err := s.Steer(ctx, run, pawl.Steering{Verb: pawl.SteerCancel, Running: pawl.DrainNow}); err != nil {
		return err
	}
	var late []time.Duration
	var sizes []int
	for _, v := range all[w.Stalled:] {
		select {
		case <-v.done:
		case <-time.After(daemonPatience):
			return errors.New("a watcher was not told the end")
		}
	}
	total := 0
	for _, err := range s.Events(ctx, run, 0) {
		if err != nil {
			return err
		}
		total++
	}
	for _, v := range all[w.Stalled:] {
		w.Lost += total - v.seen
		w.Duplicated += v.wrong
		late, sizes = append(late, v.late...), append(sizes, v.sizes...)
	}
	if len(late) == 0 {
		return errors.New("nobody read anything")
	}
	slices.Sort(late)
	slices.Sort(sizes)
	w.P50, w.P99, w.Max = late[len(late)/2], late[len(late)*99/100], late[len(late)-1]
	w.Bytes = sizes[len(sizes)/2]
	return nil
}

func rootLoop(ctx context.Context, s pawl.Service, run pawl.RunID) (string, error) {
	for e, err := range s.Events(ctx, run, 0) {
		if err != nil {
			return "", err
		}
		if b, ok := e.Body.(*pawl.LoopStarted); ok {
			return b.ID, nil
		}
	}
	return "", fmt.Errorf("run %s has no loop", run)
}

// watcher is one who watches a run.
type watcher struct {
	conn        net.Conn
	begun, done chan struct{}

	// What follows is written before done is closed.
	seen  int // events, each once
	wrong int // events that came twice, or out of order
	late  []time.Duration
	sizes []int
}

func watch(ctx context.Context, socket, address string) (*watcher, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: pawl\r\n\r\n", address); err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	return &watcher{conn: conn, begun: make(chan struct{}), done: make(chan struct{})}, nil
}

// signalled marks the events whose way is timed: the others come with much else to do.
const signalled = `"kind":"signal_sent"`

// read reads the stream to its end, as little of each line as it needs: what it takes
// itself must not count.
func (v *watcher) read() {
	defer close(v.done)
	in := bufio.NewReaderSize(v.conn, 8<<10)
	last, begun := 0, false
	for {
		line, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		text := string(line)
		switch {
		case !begun && strings.HasPrefix(text, ": pawl"):
			begun = true
			close(v.begun)
		case strings.HasPrefix(text, "id: "):
			n, err := strconv.Atoi(strings.TrimSpace(text[4:]))
			if err != nil || n <= last {
				v.wrong++
				continue
			}
			last = n
			v.seen++
		case strings.HasPrefix(text, "event: end"):
			return
		case strings.HasPrefix(text, "data: ") && strings.Contains(text, signalled):
			if at, ok := eventTime(text); ok {
				v.late, v.sizes = append(v.late, time.Since(at)), append(v.sizes, len(text))
			}
		}
	}
	if !begun {
		close(v.begun)
	}
}

func eventTime(line string) (time.Time, bool) {
	_, rest, ok := strings.Cut(line, `"time":"`)
	if !ok {
		return time.Time{}, false
	}
	text, _, _ := strings.Cut(rest, `"`)
	at, err := time.Parse(time.RFC3339Nano, text)
	return at, err == nil
}
