package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"pawl"
)

// Whatever is put and however readers fall behind: each gets every event once and in
// order, from the ring or from the log. R-78
func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRing(0)
		var log pawl.Seq
		type reader struct {
			place
			in  bool // it follows the ring
			got pawl.Seq
		}
		readers := make([]reader, 3)
		take := func(rd *reader, seq pawl.Seq) {
			if seq != rd.got+1 {
				t.Fatalf("event %d follows %d", seq, rd.got)
			}
			rd.got = seq
		}
		catchUp := func(rd *reader) {
			for rd.have < log {
				rd.have++
				take(rd, rd.have)
			}
			if rd.cursor, rd.in = r.seek(rd.have); !rd.in {
				t.Fatal("a reader that has read the log does not find into the ring")
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"put", "flood", "text", "read", "late"}).Draw(t, "step") {
			case "put":
				log++
				r.put(entry{log, []byte(fmt.Sprintf("%d\n", log))})
			case "flood":
				for range rapid.IntRange(1, 2*RingEntries).Draw(t, "events") {
					log++
					r.put(entry{log, []byte(fmt.Sprintf("%d\n", log))})
				}
			case "text":
				r.put(entry{0, []byte("text\n")})
			case "late": // the log is ahead of what the ring was told
				log++
				rd := &readers[rapid.IntRange(0, 2).Draw(t, "reader")]
				catchUp(rd)
				r.put(entry{log, []byte(fmt.Sprintf("%d\n", log))})
			case "read":
				rd := &readers[rapid.IntRange(0, 2).Draw(t, "reader")]
				if !rd.in {
					catchUp(rd)
				}
				for {
					text, to, more, _, behind := r.read(rd.place, nil)
					if behind {
						rd.in = false
						catchUp(rd)
						continue
					}
					rd.place = to
					for line := range strings.Lines(string(text)) {
						var seq pawl.Seq
						if _, err := fmt.Sscanf(line, "%d\n", &seq); err == nil {
							take(rd, seq)
						}
					}
					if more != nil {
						break
					}
				}
				if rd.got != log || rd.have != log {
					t.Fatalf("a reader that has read everything is at %d, %d of %d", rd.got, rd.have, log)
				}
			}
			if len(r.entries) > RingEntries {
				t.Fatalf("the ring has %d entries", len(r.entries))
			}
		}
	})
}

// The ring is bounded in bytes too, and keeps the newest however large it is.
func TestRingOfLargeEntries(t *testing.T) {
	r := newRing(0)
	for i := range pawl.Seq(10) {
		r.put(entry{i + 1, make([]byte, RingBytes/2)})
	}
	if len(r.entries) != 2 || r.gone != 8 {
		t.Errorf("it keeps %d, the last that is gone is %d", len(r.entries), r.gone)
	}
	r.put(entry{11, make([]byte, 2*RingBytes)})
	if len(r.entries) != 1 || r.gone != 10 {
		t.Errorf("it keeps %d, the last that is gone is %d", len(r.entries), r.gone)
	}
}

// Many watchers at different paces over a real socket, joining while the run goes on:
// each sees every event once and in order, and the run is watched once for all.
func TestManyWatchers(t *testing.T) {
	const watchers, events = 20, 6000
	s := &ticking{more: make(chan struct{})}
	var watches atomic.Int32
	s.watching = func() { watches.Add(1) }
	socket := filepath.Join(mustTemp(t), "s", "pawl.sock")
	ctx, cancel := context.WithCancel(t.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- Serve(ctx, socket, s, func() { close(ready) }) }()
	<-ready
	conn, err := net.Dial("unix", socket) // it keeps the feed
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "GET /v1/runs/001-a/watch HTTP/1.1\r\nHost: pawl\r\n\r\n")
	if _, err := conn.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	var all sync.WaitGroup
	for range watchers {
		pause := 50 + rand.IntN(1000)
		all.Go(func() {
			conn, err := net.Dial("unix", socket)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprint(conn, "GET /v1/runs/001-a/watch HTTP/1.1\r\nHost: pawl\r\n\r\n")
			in := bufio.NewReader(conn)
			for want := 1; want <= events; {
				line, err := in.ReadString('\n')
				if err != nil {
					t.Errorf("before event %d: %v", want, err)
					return
				}
				if id, ok := strings.CutPrefix(line, "id: "); ok {
					if id != fmt.Sprintf("%d\n", want) {
						t.Errorf("event %s where %d is next", id, want)
						return
					}
					if want++; want%pause == 0 {
						time.Sleep(time.Millisecond) //nolint:forbidigo // a reader that is slow
					}
				}
			}
		})
	}
	for range events {
		s.tick()
	}
	all.Wait()
	_ = conn.Close()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if watches.Load() != 1 {
		t.Errorf("the run was watched %d times", watches.Load())
	}
}

// A reader that stalls is cut off, and finds every event when it comes back with the
// last number it has. TRUST row 23
func TestStalledWatchGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &ticking{more: make(chan struct{})}
		p, stop := mustServe(t, s)
		defer stop()
		r := mustWatch(t, p, "/v1/runs/001-a/watch")
		for i := range 3 * RingEntries {
			s.tick()
			if i < 10 {
				if got := r.next(); !strings.Contains(got, fmt.Sprintf("|id: %d|", i+1)) {
					t.Fatalf("event %d is %q", i+1, got)
				}
			}
		}
		time.Sleep(WriteTimeout + time.Second) //nolint:forbidigo // fake time
		for last := 10; ; last++ {
			got := r.next()
			if strings.HasPrefix(got, "event: event|") && strings.Contains(got, fmt.Sprintf("|id: %d|", last+1)) {
				continue // what was on its way
			}
			if last >= 3*RingEntries {
				t.Fatalf("it was not cut off")
			}
			r.close()
			r = mustWatch(t, p, "/v1/runs/001-a/watch", fmt.Sprintf("Last-Event-ID: %d", last))
			for seq := last + 1; seq <= 3*RingEntries; seq++ {
				if got := r.next(); !strings.Contains(got, fmt.Sprintf("|id: %d|", seq)) {
					t.Fatalf("event %d is %q", seq, got)
				}
			}
			r.close()
			return
		}
	})
}

// A thousand readers are woken for several updates together, a few for each, and none
// waits longer than it has to.
func TestRingGathers(t *testing.T) {
	for readers, want := range map[int]int{1: 1000, 1000: 26} {
		synctest.Test(t, func(t *testing.T) {
			r := newRing(0)
			r.serve(readers)
			at, woken := place{}, 0
			done := make(chan struct{})
			go func() {
				defer close(done)
				for {
					text, to, more, over, _ := r.read(at, nil)
					if over {
						return
					}
					if at = to; len(text) > 0 {
						continue
					}
					<-more
					woken++
				}
			}()
			for i := range 1000 {
				r.put(entry{pawl.Seq(i + 1), []byte("x")})
				time.Sleep(time.Millisecond) //nolint:forbidigo // fake time
			}
			time.Sleep(GatherMost) //nolint:forbidigo // fake time
			synctest.Wait()
			if at.have != 1000 {
				t.Errorf("%d readers: at event %d", readers, at.have)
			}
			r.close(nil)
			<-done
			if woken < want-1 || woken > want+2 {
				t.Errorf("%d readers: woken %d times, want about %d", readers, woken, want)
			}
		})
	}
}
