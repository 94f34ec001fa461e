package server

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pawl"
)

// F-61: a feed that begins at a later event than a joining reader has read gives that
// reader the events between.
func TestFeedBegunAheadOfAJoiningReader(t *testing.T) {
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
	for range logged {
		s.tick()
	}
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
	first := mustRead(t, dial(), "/v1/runs/001-a/watch") // starts the feed at event 10
	mustGet(first, 1, events)
	s.tick()
	mustGet(first, events+1, events+1) // the feed exists now
	release()
	second := mustReadHead(t, conn)
	mustGet(second, old+1, events+1)
	first.close()
	second.close()
}
