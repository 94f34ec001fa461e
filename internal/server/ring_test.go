package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"pawl"
)

// ringReader follows a ring as a watch does. It reads the log, joins the ring, and reads
// the log again when it has fallen behind the ring.
type ringReader struct {
	place
	joined bool
	got    pawl.Seq // the last event received
	text   int      // the number of the last text received
}

// take checks that lines continue what the reader has received.
func (rd *ringReader) take(t *rapid.T, lines []byte) {
	for line := range strings.Lines(string(lines)) {
		var n int
		if _, err := fmt.Sscanf(line, "text %d\n", &n); err == nil {
			if n <= rd.text {
				t.Fatalf("text %d comes after text %d", n, rd.text)
			}
			rd.text = n
			continue
		}
		if want := fmt.Sprintf("%d\n", rd.got+1); line != want {
			t.Fatalf("line %q comes after event %d", line, rd.got)
		}
		rd.got++
	}
}

// Each reader gets every event once and in order, from the log or from the ring,
// whatever is put into the ring and whenever readers join or fall behind. A reader may
// join some time after it has read the log, when the ring is ahead of it. R-78, F-61
func TestRing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := pawl.Seq(rapid.IntRange(0, 3).Draw(t, "before")) // the last event in the log
		r := newRing(log)
		texts := 0
		readers := make([]ringReader, 3)
		readLog := func(rd *ringReader) {
			for rd.have < log {
				rd.have++
				rd.take(t, fmt.Appendf(nil, "%d\n", rd.have))
			}
		}
		put := func() { r.put(entry{log, fmt.Appendf(nil, "%d\n", log)}) }
		some := rapid.IntRange(0, len(readers)-1)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.SampledFrom([]string{"put", "flood", "text", "catch up", "join", "read", "late"}).Draw(t, "step") {
			case "put":
				log++
				put()
			case "flood":
				for range rapid.IntRange(1, 2*RingEntries).Draw(t, "events") {
					log++
					put()
				}
			case "text":
				texts++
				r.put(entry{0, fmt.Appendf(nil, "text %d\n", texts)})
			case "late": // the log is ahead of the ring
				log++
				readLog(&readers[some.Draw(t, "reader")])
				put()
			case "catch up":
				if rd := &readers[some.Draw(t, "reader")]; !rd.joined {
					readLog(rd)
				}
			case "join":
				if rd := &readers[some.Draw(t, "reader")]; !rd.joined {
					rd.cursor, rd.joined = r.seek(rd.have)
				}
			case "read":
				rd := &readers[some.Draw(t, "reader")]
				for reads := 0; ; reads++ {
					if reads == 1000 {
						t.Fatal("a reader does not reach the end of the ring in 1000 reads")
					}
					if !rd.joined {
						if rd.cursor, rd.joined = r.seek(rd.have); !rd.joined {
							readLog(rd)
							if rd.cursor, rd.joined = r.seek(rd.have); !rd.joined {
								t.Fatal("a reader that has read the log cannot join the ring")
							}
						}
					}
					text, to, more, _, behind := r.read(rd.place, nil)
					if rd.joined = !behind; behind {
						readLog(rd)
						continue
					}
					if more == nil && len(text) == 0 {
						t.Fatal("a reader got no text and no channel to wait on")
					}
					rd.place = to
					rd.take(t, text)
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

// A reader that has any number of events joins a ring with any arrangement of events
// and text, some of which may have been dropped. It gets exactly the events it lacks,
// or must read the log if the ring lacks one of them. F-61
func TestJoiningRing(t *testing.T) {
	longest := 6
	if testing.Short() {
		longest = 4
	}
	for n := range longest + 1 {
		for layout := range 1 << n {
			for _, flood := range []int{0, RingEntries - 2} {
				for _, start := range []pawl.Seq{0, 2} {
					joinRing(t, start, n, layout, flood)
				}
			}
		}
	}
}

// joinRing puts n entries and then a flood of text into a ring that starts after an
// event. Entry i is an event if bit i of the layout is set, and text otherwise. It joins
// the ring as a reader with each number of events that a reader may have.
func joinRing(t *testing.T, start pawl.Seq, n, layout, flood int) {
	t.Helper()
	r, last := newRing(start), start
	var kept []entry
	for i := range n + flood {
		e := entry{data: []byte("text\n")}
		if i < n && layout>>i&1 == 1 {
			last++
			e = entry{last, fmt.Appendf(nil, "%d\n", last)}
		}
		r.put(e)
		kept = append(kept, e)
	}
	lost := start // the last event that is not in the ring
	for _, e := range kept[:max(0, len(kept)-RingEntries)] {
		lost = max(lost, e.seq)
	}
	kept = kept[max(0, len(kept)-RingEntries):]
	for have := range last + 2 {
		at := fmt.Sprintf("layout %b of %d after %d, flood %d: a reader that has %d", layout, n, start, flood, have)
		cursor, ok := r.seek(have)
		if want := have >= lost; ok != want {
			t.Fatalf("%s joins: %v, want %v", at, ok, want)
		}
		if !ok {
			continue
		}
		var want []byte // all entries from the first event that it lacks
		for _, e := range kept {
			if len(want) > 0 || e.seq > have {
				want = append(want, e.data...)
			}
		}
		text, to, more, _, behind := r.read(place{cursor, have}, nil)
		if string(text) != string(want) || behind || to.have != max(have, last) {
			t.Fatalf("%s gets %q up to %d (behind: %v), want %q", at, text, to.have, behind, want)
		}
		if more == nil {
			text, _, more, _, behind = r.read(to, nil)
		}
		if len(text) > 0 && len(want) == 0 || more == nil || behind {
			t.Fatalf("%s has read everything but gets %q (behind: %v)", at, text, behind)
		}
	}
}

// mustServeSocket serves s on a real socket. stop closes the server and waits for it.
func mustServeSocket(t *testing.T, s pawl.Service) (h *handler, dial func() net.Conn, stop func()) {
	t.Helper()
	socket := filepath.Join(mustTemp(t), "s", "pawl.sock")
	ctx, cancel := context.WithCancel(t.Context())
	l, err := listen(ctx, socket)
	if err != nil {
		t.Fatal(err)
	}
	h = newHandler(s, nil, nil)
	done := make(chan error, 1)
	go func() { done <- serve(ctx, &served{l, h.face(faceProject, socketHosts)}) }()
	dial = func() net.Conn {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			t.Error(err)
			runtime.Goexit()
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		return conn
	}
	return h, dial, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// lagging is a run whose log is read slowly. It calls afterEvents after the last event
// of the log has been read and before the reader sees the end.
type lagging struct {
	*ticking
	afterEvents func(after pawl.Seq)
}

func (s *lagging) Events(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		for e, err := range s.ticking.Events(ctx, run, after) {
			if !yield(e, err) {
				return
			}
		}
		s.afterEvents(after)
	}
}

// Events that happen while a watcher reads the log are in the ring before the watcher
// joins it. The watcher gets each of them once. R-78, F-61
func TestWatcherJoinsRingThatIsAhead(t *testing.T) {
	const old, logged, events = 4, 7, 10
	s := &lagging{ticking: &ticking{more: make(chan struct{})}}
	_, dial, stop := mustServeSocket(t, s)
	defer stop()
	joining, ahead := make(chan struct{}), make(chan struct{})
	var once sync.Once
	release := sync.OnceFunc(func() { close(ahead) })
	defer release()
	s.afterEvents = func(after pawl.Seq) {
		if after == old {
			once.Do(func() { close(joining); <-ahead })
		}
	}
	mustGet := func(r *reader, from, to int) {
		t.Helper()
		for seq := from; seq <= to; seq++ {
			if got := r.next(); !strings.Contains(got, fmt.Sprintf("|id: %d|", seq)) {
				t.Fatalf("got %.80q, want event %d", got, seq)
			}
		}
	}
	first := mustRead(t, dial(), "/v1/runs/001-a/watch") // starts the feed, from the beginning
	for range logged {
		s.tick()
	}
	mustGet(first, 1, logged)
	conn := dial()
	mustRequest(t, conn, "/v1/runs/001-a/watch", fmt.Sprintf("Last-Event-ID: %d", old))
	select {
	case <-joining:
	case <-time.After(patience):
		t.Fatal("the second watcher did not read the log")
	}
	for range events - logged {
		s.tick()
	}
	mustGet(first, logged+1, events)
	release()
	second := mustReadHead(t, conn)
	mustGet(second, old+1, events)
	s.tick()
	mustGet(first, events+1, events+1)
	mustGet(second, events+1, events+1)
	first.close()
	second.close()
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

// A reader gets at most about a piece at a time. An entry that is larger comes whole.
func TestPieces(t *testing.T) {
	r, want := newRing(0), []int{piece, piece - 1, 2 * piece, 1}
	for i, size := range []int{piece / 2, piece / 2, piece - 1, 2 * piece, 1} {
		r.put(entry{pawl.Seq(i + 1), make([]byte, size)})
	}
	at := place{}
	for i, size := range want {
		text, to, more, over, behind := r.read(at, nil)
		if len(text) != size || more != nil || over || behind {
			t.Fatalf("piece %d has %d bytes, want %d", i, len(text), size)
		}
		at = to
	}
	if text, _, more, over, behind := r.read(at, nil); len(text) > 0 || more == nil || over || behind {
		t.Errorf("%d bytes follow the last piece", len(text))
	}
}

// A reader that comes while a feed is ending starts a new feed. The old one may be
// ending because its last reader has left or because the run is at rest, but the run
// may continue.
func TestFeedThatIsEnding(t *testing.T) {
	w := watched{run: "001-a"}
	t.Run("NobodyReads", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ends := make(chan struct{})
			s := &fake{watch: func(ctx context.Context, _ pawl.RunID, _ pawl.Seq, _ func(pawl.Update, error) bool) {
				<-ctx.Done()
				<-ends
			}}
			var fs feeds
			first, leave := fs.join(w, s, 0)
			go leave()
			synctest.Wait() // the last reader has left, but the watch has not ended
			second, leaveToo := fs.join(w, s, 0)
			if first == second {
				t.Error("the reader joins a feed that is ending")
			}
			close(ends)
			synctest.Wait()
			if fs.all[w] != second {
				t.Error("the end of the first feed removed the second")
			}
			leaveToo()
			if len(fs.all) > 0 {
				t.Error("a feed without readers remains")
			}
		})
	})
	t.Run("TheRunIsAtRest", func(t *testing.T) {
		s := &fake{watch: func(context.Context, pawl.RunID, pawl.Seq, func(pawl.Update, error) bool) {}}
		var fs feeds
		first, leave := fs.join(w, s, 0)
		defer leave()
		<-first.done
		second, leaveToo := fs.join(w, s, 0)
		defer leaveToo()
		if first == second {
			t.Error("the reader joins a feed that has ended")
		}
	})
}

// Many watchers join over a real socket while the run continues, and read at different
// paces. Each sees every event once and in order, and the run is watched only once. A
// watcher that is cut off because the machine is slow resumes where it was.
func TestManyWatchers(t *testing.T) {
	watchers, events := 20, 6000
	if testing.Short() {
		watchers, events = 8, RingEntries+500
	}
	const connections = 100
	s := &ticking{more: make(chan struct{})}
	var watches atomic.Int32
	s.watching = func() { watches.Add(1) }
	h, dial, stop := mustServeSocket(t, s)
	defer stop()
	_, leave := h.feeds.join(watched{run: "001-a"}, s, 0) // keeps the feed until the end
	defer leave()
	var all sync.WaitGroup
	for range watchers {
		pause := 50 + rand.IntN(1000)
		all.Go(func() {
			want := 1
			watch := func() error {
				conn := dial()
				defer conn.Close()
				fmt.Fprintf(conn, "GET /v1/runs/001-a/watch HTTP/1.1\r\nHost: pawl\r\nLast-Event-ID: %d\r\n\r\n", want-1)
				in := bufio.NewReader(conn)
				for want <= events {
					line, err := in.ReadString('\n')
					if err != nil {
						return err
					}
					id, ok := strings.CutPrefix(line, "id: ")
					if !ok {
						continue
					}
					if id != fmt.Sprintf("%d\n", want) {
						t.Errorf("event %s where %d is next", id, want)
						return nil
					}
					if want++; want%pause == 0 {
						_ = conn.SetDeadline(time.Now().Add(patience))
						time.Sleep(time.Millisecond) //nolint:forbidigo // a reader that is slow
					}
				}
				return nil
			}
			for range connections {
				switch err := watch(); {
				case err == nil:
					return
				case errors.Is(err, os.ErrDeadlineExceeded):
					t.Errorf("after event %d: %v", want-1, err)
					return
				}
			}
			t.Errorf("a watcher that connected %d times got no further than event %d", connections, want-1)
		})
	}
	for range events {
		s.tick()
	}
	all.Wait()
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

// A few readers are woken at once. Many readers are woken at most once in the ring's
// gather time, and at once if they were not woken for that long.
func TestGatherTime(t *testing.T) {
	for readers, want := range map[int]time.Duration{0: 0, 1: 0, 24: 0, 25: time.Millisecond, 100: 4 * time.Millisecond, 2499: 99960 * time.Microsecond,
		2500: 100 * time.Millisecond, 100_000: 100 * time.Millisecond} {
		r := newRing(0)
		if r.serve(readers); r.gather != want {
			t.Errorf("%d readers are woken every %s, want %s", readers, r.gather, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRing(0)
		r.serve(1000)
		_, _, more, _, _ := r.read(place{}, nil)
		time.Sleep(time.Second) //nolint:forbidigo // fake time
		r.put(entry{1, []byte("x")})
		select {
		case <-more:
		default:
			t.Error("a reader that was not woken for a second is not woken at once")
		}
	})
}
