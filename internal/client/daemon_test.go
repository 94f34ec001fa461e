package client_test

import (
	"context"
	"iter"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"pawl"
	"pawl/internal/client"
	"pawl/internal/engine"
	"pawl/internal/engine/servicetest"
	"pawl/internal/server"
	"pawl/internal/store/mem"
)

// projects is a daemon's, which has the shop.
type projects struct{ pawl.Service }

func (p projects) Open(_ context.Context, dir string) (pawl.ProjectInfo, error) {
	if dir != "/shop" {
		return pawl.ProjectInfo{}, pawl.Errorf(pawl.CodeInvalid, "%s is in no repository", dir).WithHint("git init")
	}
	return pawl.ProjectInfo{ID: "shop", Root: "/shop"}, nil
}

func (p projects) Projects(context.Context) ([]pawl.ProjectInfo, error) {
	return []pawl.ProjectInfo{{ID: "shop", Root: "/shop", Live: 2}}, nil
}

func (p projects) Project(_ context.Context, id string) (pawl.Service, error) {
	if id != "shop" {
		return nil, pawl.Errorf(pawl.CodeNotFound, "no project %q is open", id)
	}
	return p.Service, nil
}

func (p projects) Load(context.Context) (pawl.Load, error) {
	return pawl.Load{Pools: []pawl.PoolLoad{{Name: "machine", Slots: 4}}}, nil
}

// mustDaemon serves a daemon on a socket; end ends it.
func mustDaemon(tb testing.TB, socket string, d server.Daemon) (end func()) {
	tb.Helper()
	stop := mustStoppable(tb, socket, d)
	return func() { stop(nil) }
}

// mustStoppable is mustDaemon whose end may have a reason.
func mustStoppable(tb testing.TB, socket string, d server.Daemon) (stop func(why error)) {
	tb.Helper()
	ctx, cancel := context.WithCancelCause(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- server.ServeDaemon(ctx, socket, d, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-done:
		cancel(nil)
		tb.Fatal(err)
	}
	return func(why error) {
		cancel(why)
		if err := <-done; err != nil {
			tb.Error(err)
		}
	}
}

// A project of a daemon behaves over the socket as it does in the process. Any client of
// the API can start a run. L-03
func TestServiceOfADaemon(t *testing.T) {
	servicetest.Run(t,
		func(testing.TB) pawl.Log { return mem.New() },
		func(tb testing.TB, c engine.Config) (pawl.Service, func()) {
			e := engine.New(c)
			socket := mustSocket(tb)
			end := mustDaemon(tb, socket, server.Daemon{Projects: projects{e}})
			d := client.NewDaemon(socket)
			s, err := d.Project(context.Background(), "shop")
			if err != nil {
				tb.Fatal(err)
			}
			return s, func() {
				e.Close()
				end()
				d.Close()
			}
		})
}

func TestDaemon(t *testing.T) {
	socket := mustSocket(t)
	var seen atomic.Value
	handed := make(chan struct{}, 1)
	end := mustDaemon(t, socket, server.Daemon{Projects: projects{},
		About:    func() pawl.DaemonInfo { return pawl.DaemonInfo{Version: "1", PID: 7} },
		Handover: func(context.Context) error { handed <- struct{}{}; return nil },
		Around: func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				seen.Store(r.Header.Get("Pawl-Test"))
				next.ServeHTTP(w, r)
			})
		}})
	defer end()
	d := client.NewDaemon(socket)
	d.Send(http.Header{"Pawl-Test": {"sent"}})
	defer d.Close()
	if about, err := d.About(t.Context()); err != nil || about.PID != 7 || seen.Load() != "sent" {
		t.Errorf("it is %+v with %v: %v", about, seen.Load(), err)
	}
	if info, err := d.Open(t.Context(), "/shop"); err != nil || info.ID != "shop" {
		t.Errorf("opened %+v: %v", info, err)
	}
	_, err := d.Open(t.Context(), "/elsewhere")
	mustBe(t, err, pawl.CodeInvalid, "/elsewhere is in no repository", "git init")
	if all, err := d.Projects(t.Context()); err != nil || len(all) != 1 || all[0].Live != 2 {
		t.Errorf("projects %+v: %v", all, err)
	}
	for _, id := range []string{"nobody", "..", ""} {
		_, err = d.Project(t.Context(), id)
		mustBe(t, err, pawl.CodeNotFound)
	}
	if load, err := d.Load(t.Context()); err != nil || len(load.Pools) != 1 || load.Pools[0].Slots != 4 {
		t.Errorf("load %+v: %v", load, err)
	}
	if err := d.Handover(t.Context()); err != nil || len(handed) != 1 {
		t.Errorf("handover: %v", err)
	}
}

// A watch goes on where it was when another daemon takes the socket over. R-52
func TestWatchOutlivesTheDaemon(t *testing.T) {
	socket := mustSocket(t)
	all := []pawl.Event{pause(1), pause(2), pause(3), pause(4)}
	first := mustDaemon(t, socket, server.Daemon{Projects: projects{&history{events: all[:2]}}})
	d := client.NewDaemon(socket)
	defer d.Close()
	s, err := d.Project(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	var got []pawl.Seq
	for u, err := range s.Watch(t.Context(), "001-a", 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, u.Event.Seq)
		if len(got) == 2 {
			first()
			defer mustDaemon(t, socket, server.Daemon{Projects: projects{&history{events: all, ends: true}}})()
		}
	}
	if !slices.Equal(got, []pawl.Seq{1, 2, 3, 4}) {
		t.Errorf("events %v", got)
	}
}

// A daemon that is stopped says so to whoever watches, and one that died is not waited for.
// F-30
func TestWatchHearsWhatBecameOfTheDaemon(t *testing.T) {
	died := pawl.Errorf(pawl.CodeUnavailable, "the daemon, process 7, died")
	for _, c := range []struct {
		name string
		why  error   // the daemon says
		gone []error // what is known of it, each time that it is asked
		want pawl.Code
		says string
	}{
		{"Stopped", pawl.Errorf(pawl.CodeStopped, "the daemon was stopped").WithHint("pawl resume"), nil, pawl.CodeStopped, "pawl resume"},
		{"Died", nil, []error{died}, pawl.CodeUnavailable, "process 7, died"},
		{"MadeRoomThenDied", nil, []error{nil, died}, pawl.CodeUnavailable, "process 7, died"},
	} {
		t.Run(c.name, func(t *testing.T) {
			socket, asked := mustSocket(t), 0
			stop := mustStoppable(t, socket, server.Daemon{Projects: projects{&history{events: []pawl.Event{pause(1)}}}})
			d := client.NewDaemon(socket)
			defer d.Close()
			d.Gone = func(context.Context) error {
				if asked == len(c.gone) {
					t.Fatalf("asked %d times", asked+1)
				}
				asked++
				return c.gone[asked-1]
			}
			s, err := d.Project(t.Context(), "shop")
			if err != nil {
				t.Fatal(err)
			}
			var got []pawl.Seq
			for u, err := range s.Watch(t.Context(), "001-a", 0) {
				if err != nil {
					mustBe(t, err, c.want, c.says)
					break
				}
				got = append(got, u.Event.Seq)
				stop(c.why)
			}
			if !slices.Equal(got, []pawl.Seq{1}) || asked != len(c.gone) {
				t.Errorf("events %v, asked %d times", got, asked)
			}
		})
	}
}

// history is a run that has some events, and may have come to rest.
type history struct {
	pawl.Service
	events []pawl.Event
	ends   bool
}

func (h *history) Events(_ context.Context, _ pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		for _, e := range h.events {
			if e.Seq > after && !yield(e, nil) {
				return
			}
		}
	}
}

func (h *history) Watch(ctx context.Context, _ pawl.RunID, _ pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(func(pawl.Update, error) bool) {
		if !h.ends {
			<-ctx.Done()
		}
	}
}

// stack is a cache of one layer of 10 bytes.
type stack struct{ pawl.Service }

func (stack) Cache(context.Context) (pawl.CacheInfo, error) {
	return pawl.CacheInfo{Limit: 100, Size: 10, Layers: []pawl.CacheLayer{{Name: "1", Made: time.Unix(1, 0).UTC(), Size: 10, InUse: true}}, Rooms: []pawl.KeptRoom{}}, nil
}

func (stack) PruneCache(_ context.Context, req pawl.PruneRequest) (pawl.PruneResult, error) {
	switch {
	case req.Size == nil:
		return pawl.PruneResult{Removed: []pawl.CacheLayer{}, Size: 10, Target: 100}, nil
	case *req.Size < 0:
		return pawl.PruneResult{}, pawl.Errorf(pawl.CodeInvalid, "size %d", *req.Size)
	}
	return pawl.PruneResult{Removed: []pawl.CacheLayer{{Name: "1"}}, Freed: 10, Target: *req.Size}, nil
}

// A cache is listed and pruned alike through the socket of a process that has one project
// and through a daemon's.
func TestCache(t *testing.T) {
	alone, end := mustServe(t, stack{})
	defer end()
	socket := mustSocket(t)
	defer mustDaemon(t, socket, server.Daemon{Projects: projects{stack{}}})()
	d := client.NewDaemon(socket)
	defer d.Close()
	of, err := d.Project(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]pawl.Service{"alone": alone, "daemon": of} {
		want, _ := stack{}.Cache(t.Context())
		if got, err := pawl.ListCache(t.Context(), s); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%s: it lists %+v, %v", name, got, err)
		}
		none, few, negative := int64(0), int64(7), int64(-1)
		for _, size := range []*int64{nil, &none, &few} {
			want, _ := stack{}.PruneCache(t.Context(), pawl.PruneRequest{Size: size})
			if got, err := pawl.PruneCache(t.Context(), s, pawl.PruneRequest{Size: size}); err != nil || !cmp.Equal(want, got) {
				t.Errorf("%s: it removed %+v, %v, want %+v", name, got, err, want)
			}
		}
		_, err := pawl.PruneCache(t.Context(), s, pawl.PruneRequest{Size: &negative})
		mustBe(t, err, pawl.CodeInvalid, "size -1")
	}
	bare, end := mustServe(t, &history{})
	defer end()
	_, err = bare.Cache(t.Context())
	mustBe(t, err, pawl.CodeUnavailable, "cannot be reached from here")
	_, err = bare.PruneCache(t.Context(), pawl.PruneRequest{})
	mustBe(t, err, pawl.CodeUnavailable, "cannot be reached from here")
}
