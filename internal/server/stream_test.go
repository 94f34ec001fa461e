package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pawl"
)

// pipes is a listener whose connections are in this process, so that time can be
// made to pass. They have no buffer: what is written waits to be read.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// mustServe serves s on pipes; stop ends it and waits.
func mustServe(t *testing.T, s pawl.Service) (p *pipes, stop func()) {
	t.Helper()
	p = newPipes()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- serve(ctx, &served{p, Handler(s)}) }()
	return p, func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// reader reads a stream as it comes.
type reader struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// mustWatch asks for a watch stream and reads its head.
func mustWatch(t *testing.T, p *pipes, target string, headers ...string) *reader {
	t.Helper()
	conn, err := p.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	return mustRead(t, conn, target, headers...)
}

// mustRead asks for a stream of events and reads its head.
func mustRead(t *testing.T, conn net.Conn, target string, headers ...string) *reader {
	t.Helper()
	mustRequest(t, conn, target, headers...)
	return mustReadHead(t, conn)
}

// mustRequest sends a request for a stream of events.
func mustRequest(t *testing.T, conn net.Conn, target string, headers ...string) {
	t.Helper()
	text := "GET " + target + " HTTP/1.1\r\nHost: pawl\r\n" + strings.Join(append(headers, ""), "\r\n") + "\r\n"
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// mustReadHead reads the head of a stream that was requested.
func mustReadHead(t *testing.T, conn net.Conn) *reader {
	t.Helper()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("status %d, %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	r := &reader{t: t, conn: conn, in: bufio.NewReader(resp.Body)}
	if got := r.next(); got != ": pawl" {
		t.Fatalf("the stream begins with %q", got)
	}
	return r
}

// next is the next event or comment, its lines joined by bars; after the last
// one it is the error.
func (r *reader) next() string {
	var lines []string
	for {
		line, err := r.in.ReadString('\n')
		if err != nil {
			return err.Error()
		}
		if line == "\n" {
			return strings.Join(lines, "|")
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
}

func (r *reader) mustNext(want string) {
	r.t.Helper()
	if got := r.next(); got != want {
		r.t.Errorf("the stream has %q, want %q", got, want)
	}
}

func (r *reader) close() { _ = r.conn.Close() }

// until watches until its context ends, and says when that was.
func until(ended chan<- time.Time) func(context.Context, pawl.RunID, pawl.Seq, func(pawl.Update, error) bool) {
	return func(ctx context.Context, _ pawl.RunID, _ pawl.Seq, yield func(pawl.Update, error) bool) {
		<-ctx.Done()
		ended <- time.Now()
		yield(pawl.Update{}, ctx.Err())
	}
}

func told(seq pawl.Seq) string {
	return fmt.Sprintf(`event: event|id: %d|data: {"run":"001-a","seq":%d,"time":"%s","kind":"run_paused","body":{}}`,
		seq, seq, time.Unix(int64(seq), 0).UTC().Format(time.RFC3339))
}

func TestWatch(t *testing.T) {
	all := pauses(4)
	live := pawl.Live{Effect: 2, Text: "two\nlines"}
	f := &fake{events: all[:2], watch: func(_ context.Context, _ pawl.RunID, after pawl.Seq, yield func(pawl.Update, error) bool) {
		for _, e := range all[min(int(after), len(all)):] {
			if e.Seq == 3 && !yield(pawl.Update{Live: &live}, nil) {
				return
			}
			if !yield(pawl.Update{Event: &e}, nil) {
				return
			}
		}
	}}
	text := `event: live|data: {"effect":2,"place":{},"text":"two\nlines"}`
	t.Run("EventsHaveTheirNumbersAsIDs", func(t *testing.T) {
		p, stop := mustServe(t, f)
		defer stop()
		r := mustWatch(t, p, "/v1/runs/001-a/watch?after=1")
		defer r.close()
		for _, want := range []string{told(2), text, told(3), told(4), "event: end|data: {}", io.EOF.Error()} {
			r.mustNext(want)
		}
	})
	t.Run("LastEventIDGoesOn", func(t *testing.T) { // TRUST row 23
		p, stop := mustServe(t, &fake{events: all[:3], watch: f.watch})
		defer stop()
		r := mustWatch(t, p, "/v1/runs/001-a/watch?after=1", "Last-Event-ID: 3")
		defer r.close()
		for _, want := range []string{told(4), "event: end|data: {}"} {
			r.mustNext(want)
		}
	})
	t.Run("TheConnectionIsOfUseAfterwards", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p, stop := mustServe(t, f)
			defer stop()
			c := &http.Client{Transport: &http.Transport{DialContext: p.dial}}
			defer c.CloseIdleConnections()
			for range 3 {
				resp, err := c.Get("http://pawl/v1/runs/001-a/watch")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					t.Error(err)
				}
				_ = resp.Body.Close()
				time.Sleep(2 * WriteTimeout) //nolint:forbidigo // fake time: a deadline of the last answer would hit the next
			}
		})
	})
	t.Run("AnErrorEndsIt", func(t *testing.T) {
		broken := &fake{watch: func(_ context.Context, _ pawl.RunID, _ pawl.Seq, yield func(pawl.Update, error) bool) {
			yield(pawl.Update{}, pawl.Errorf(pawl.CodeDamaged, "event 3 is damaged").WithHint("keep a copy"))
		}}
		p, stop := mustServe(t, broken)
		defer stop()
		r := mustWatch(t, p, "/v1/runs/001-a/watch")
		defer r.close()
		r.mustNext(`event: error|data: {"title":"Internal Server Error","status":500,"detail":"event 3 is damaged","code":"damaged","hint":"keep a copy"}`)
		r.mustNext(io.EOF.Error())
	})
}

func TestSilentWatchKeepsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Time, 1)
		p, stop := mustServe(t, &fake{watch: until(ended)})
		defer stop()
		begin := time.Now()
		r := mustWatch(t, p, "/v1/runs/001-a/watch")
		for n := range time.Duration(3) {
			r.mustNext(": alive")
			if got := time.Since(begin); got != (n+1)*KeepAlive {
				t.Errorf("it said so after %s", got)
			}
		}
		r.close() // a reader that goes away is noticed at once
		if got := (<-ended).Sub(begin); got != 3*KeepAlive {
			t.Errorf("it was watched for %s", got)
		}
	})
}

// A reader that stops reading is cut off, whether there is anything to tell or
// not, and no other waits for it. TRUST row 23
func TestStalledWatch(t *testing.T) {
	t.Run("WhileThereIsSomethingToTell", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			const many = 100
			var mu sync.Mutex
			ended := map[pawl.RunID]time.Duration{}
			lasted := func(run pawl.RunID) (time.Duration, bool) {
				mu.Lock()
				defer mu.Unlock()
				d, ok := ended[run]
				return d, ok
			}
			begin := time.Now()
			f := &fake{watch: func(ctx context.Context, run pawl.RunID, _ pawl.Seq, yield func(pawl.Update, error) bool) {
				defer func() {
					mu.Lock()
					defer mu.Unlock()
					ended[run] = time.Since(begin)
				}()
				for i := range many {
					e := pause(pawl.Seq(i+1), "")
					if !yield(pawl.Update{Event: &e}, nil) {
						return
					}
				}
				if run == "stalled" {
					<-ctx.Done() // nobody watches it any more
				}
			}}
			p, stop := mustServe(t, f)
			defer stop()
			stalled := mustWatch(t, p, "/v1/runs/stalled/watch")
			defer stalled.close()
			for range 3 {
				r := mustWatch(t, p, "/v1/runs/reading/watch")
				for i := range pawl.Seq(many) {
					r.mustNext(told(i + 1))
				}
				r.mustNext("event: end|data: {}")
				r.close()
				synctest.Wait()
				if got, ok := lasted("reading"); !ok || got != 0 {
					t.Errorf("a reader waited %s for another: %v", got, ok)
				}
			}
			time.Sleep(WriteTimeout) //nolint:forbidigo // fake time
			synctest.Wait()
			if got, ok := lasted("stalled"); !ok || got != WriteTimeout {
				t.Errorf("the stalled reader was watched for %s: %v", got, ok)
			}
		})
	})
	t.Run("WhileThereIsNothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan time.Time, 1)
			p, stop := mustServe(t, &fake{watch: until(ended)})
			defer stop()
			begin := time.Now()
			stalled := mustWatch(t, p, "/v1/runs/001-a/watch")
			defer stalled.close()
			if got := (<-ended).Sub(begin); got != KeepAlive+WriteTimeout {
				t.Errorf("it was watched for %s", got)
			}
		})
	})
	t.Run("OfEventsAndBlobsToo", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{events: pauses(1000), blob: make([]byte, 1<<20)}
			p, stop := mustServe(t, f)
			for _, target := range []string{"events", "blobs/" + pawl.HashOf(f.blob).String()} {
				conn, err := p.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.WriteString(conn, "GET /v1/runs/001-a/"+target+" HTTP/1.1\r\nHost: pawl\r\n\r\n"); err != nil {
					t.Fatal(err)
				}
				time.Sleep(WriteTimeout + time.Second) //nolint:forbidigo // fake time
				if n, err := io.Copy(io.Discard, conn); err != nil || n > 0 {
					t.Errorf("%s: %d bytes arrived after the reader was cut off, %v", target, n, err)
				}
			}
			stop()
		})
	})
	t.Run("OneThatIsOnlySlowGetsAll", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{blob: make([]byte, 1<<20)}
			p, stop := mustServe(t, f)
			defer stop()
			c := &http.Client{Transport: &http.Transport{DialContext: p.dial}}
			defer c.CloseIdleConnections()
			begin := time.Now()
			resp, err := c.Get("http://pawl/v1/runs/001-a/blobs/" + pawl.HashOf(f.blob).String())
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if data, err := io.ReadAll(slow{resp.Body}); err != nil || len(data) != len(f.blob) || time.Since(begin) < 2*WriteTimeout {
				t.Errorf("%d bytes in %s: %v", len(data), time.Since(begin), err)
			}
		})
	})
}

// slow reads at most 4 KiB every tenth of a second.
type slow struct{ io.Reader }

func (s slow) Read(data []byte) (int, error) {
	time.Sleep(100 * time.Millisecond) //nolint:forbidigo // fake time
	return s.Reader.Read(data[:min(len(data), 4<<10)])
}

// A server that closes ends what is under way, and then nothing of it is left.
func TestClosingServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan time.Time, 8)
		f := &fake{watch: until(ended)}
		p, stop := mustServe(t, f)
		var readers []*reader
		for range 3 {
			readers = append(readers, mustWatch(t, p, "/v1/runs/001-a/watch"))
		}
		idle := &http.Client{Transport: &http.Transport{DialContext: p.dial}}
		defer idle.CloseIdleConnections()
		resp, err := idle.Get("http://pawl/v1/runs")
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			t.Fatal(err)
		}
		half, err := p.dial(t.Context(), "", "") // it says nothing
		if err != nil {
			t.Fatal(err)
		}
		defer half.Close()
		synctest.Wait()

		begin := time.Now()
		go func() {
			for _, r := range readers {
				if got := r.next(); got == "event: end|data: {}" || strings.HasPrefix(got, "event: error") {
					t.Errorf("a stream that was cut off says %q", got)
				}
				r.close()
			}
		}()
		stop()
		if got := time.Since(begin); got > shutdownGrace {
			t.Errorf("closing took %s", got)
		}
		if len(ended) != 1 {
			t.Errorf("%d watches ended, of the one they share", len(ended))
		}
		if _, err := p.dial(t.Context(), "", ""); err == nil {
			t.Error("it can still be connected to")
		}
	})
	t.Run("AlsoWithReadersThatDoNotRead", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := &ticking{more: make(chan struct{})}
			p, stop := mustServe(t, s)
			stalled := mustWatch(t, p, "/v1/runs/001-a/watch")
			defer stalled.close()
			for range 2 * RingEntries {
				s.tick()
			}
			synctest.Wait()
			begin := time.Now()
			stop()
			if got := time.Since(begin); got > shutdownGrace {
				t.Errorf("closing took %s", got)
			}
		})
	})
}

// patient is a service that allows a limited number of reads of its logs. Further reads
// fail, so that a reader that makes no progress cannot loop forever.
type patient struct {
	pawl.Service
	reads atomic.Int32
}

func newPatient(s pawl.Service, reads int32) *patient {
	p := &patient{Service: s}
	p.reads.Store(reads)
	return p
}

func (p *patient) Events(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	if p.reads.Add(-1) < 0 {
		return func(yield func(pawl.Event, error) bool) {
			yield(pawl.Event{}, pawl.Errorf(pawl.CodeInternal, "the log is read again and again"))
		}
	}
	return p.Service.Events(ctx, run, after)
}

// A watch ends with an error if the log lacks events that other watchers were already
// sent. The watch used to read the log forever, and the server did not close. F-65
func TestWatchOfLogThatLacksEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPatient(&fake{watch: func(ctx context.Context, _ pawl.RunID, _ pawl.Seq, yield func(pawl.Update, error) bool) {
			for e := pause(1, ""); e.Seq <= RingEntries+7 && yield(pawl.Update{Event: &e}, nil); e.Seq++ {
			}
			<-ctx.Done()
		}}, 10)
		h := newHandler(s, nil, nil)
		_, leave := h.feeds.join(watched{run: "001-a"}, s, 0)
		defer leave()
		synctest.Wait() // the ring has dropped the first events
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://pawl/v1/runs/001-a/watch", nil)
		w := httptest.NewRecorder()
		h.face(faceProject, socketHosts).ServeHTTP(w, r)
		if got := w.Body.String(); !strings.Contains(got, "event: error\n") || !strings.Contains(got, "lacks event 7,") {
			t.Errorf("the stream is %.300q", got)
		}
	})
}

// A watcher that claims more events than the log has does not affect the others. They
// get every event and do not read the log again and again. F-65
func TestWatcherThatClaimsTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &ticking{more: make(chan struct{})}
		for range 3 {
			log.tick()
		}
		p, stop := mustServe(t, newPatient(log, 10))
		defer stop()
		claims := mustWatch(t, p, "/v1/runs/001-a/watch", "Last-Event-ID: 5")
		defer claims.close()
		synctest.Wait() // the claiming watcher has started the feed
		r := mustWatch(t, p, "/v1/runs/001-a/watch")
		defer r.close()
		synctest.Wait()
		for range 3 {
			log.tick()
		}
		for seq := 1; seq <= 6; seq++ {
			if got := r.next(); !strings.Contains(got, fmt.Sprintf("|id: %d|", seq)) {
				t.Fatalf("got %.80q, want event %d", got, seq)
			}
		}
		if got := claims.next(); !strings.Contains(got, "|id: 6|") {
			t.Errorf("a watcher that claims 5 events gets %.80q, want event 6", got)
		}
	})
}

// growing is a run whose log has only its first few events when it is first read.
type growing struct {
	fake
	first int
}

func (s *growing) Events(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	all := s.fake.events
	if s.first > 0 {
		all, s.first = all[:s.first], 0
	}
	return (&fake{events: all}).Events(ctx, run, after)
}

// A watcher that is behind the ring already when it joins reads the log again. It then
// continues with the ring once the log has every event that the ring has dropped.
func TestWatcherThatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newPatient(&growing{first: 3, fake: fake{events: pauses(7), watch: func(ctx context.Context, _ pawl.RunID, _ pawl.Seq, yield func(pawl.Update, error) bool) {
			for _, e := range pauses(7) {
				yield(pawl.Update{Event: &e}, nil)
			}
			for range RingEntries {
				yield(pawl.Update{Live: &pawl.Live{Text: "x"}}, nil)
			}
		}}}, 10)
		h := newHandler(s, nil, nil)
		f, leave := h.feeds.join(watched{run: "001-a"}, s, 0)
		defer leave()
		synctest.Wait()
		if gone := f.lastGone(); gone != 7 {
			t.Fatalf("the last event that the ring dropped is %d, want 7", gone)
		}
		h.feeds.all[watched{run: "001-a"}] = f // as if the run continued
		w := httptest.NewRecorder()
		h.face(faceProject, socketHosts).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://pawl/v1/runs/001-a/watch", nil))
		want := ": pawl\n\n"
		for seq := range pawl.Seq(7) {
			want += strings.ReplaceAll(told(seq+1), "|", "\n") + "\n\n"
		}
		if got := w.Body.String(); got != want+"event: end\ndata: {}\n\n" {
			t.Errorf("the stream is %.2000q", got)
		}
	})
}

// A watch of a damaged log ends with an error, also if it has already sent events.
func TestWatchOfDamagedLog(t *testing.T) {
	damaged := pawl.Errorf(pawl.CodeDamaged, "event 3 is damaged")
	for n := range 3 {
		w := request(&fake{events: pauses(n), broken: damaged}, http.MethodGet, "/v1/runs/001-a/watch", "")
		if n == 0 {
			if e := refusal(t, w); w.Code != http.StatusInternalServerError || e.Code != pawl.CodeDamaged {
				t.Errorf("status %d, %+v", w.Code, e)
			}
			continue
		}
		if got := w.Body.String(); w.Code != http.StatusOK || strings.Count(got, "event: event\n") != n || !strings.HasSuffix(got, `"code":"damaged"}`+"\n\n") {
			t.Errorf("after %d events: status %d, %q", n, w.Code, got)
		}
	}
}

// Write returns the number of bytes in all pieces.
func TestPacedWriter(t *testing.T) {
	for _, size := range []int{0, 1, piece, piece + 1, 3*piece + 1} {
		w := httptest.NewRecorder()
		p := &pacedWriter{ResponseWriter: w, c: http.NewResponseController(w)}
		if n, err := p.Write(make([]byte, size)); n != size || err != nil || w.Body.Len() != size {
			t.Errorf("a write of %d bytes returned %d, and %d arrived: %v", size, n, w.Body.Len(), err)
		}
	}
}
