package egress

import (
	"cmp"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pawl"
)

// Limits of the record. What is beyond one is counted in an entry of its own, so that a
// room that asks for names without end hides nothing of what it reached.
const (
	maxReached = 64 // hosts that were reached
	maxRefused = 34 // hosts that were not, with the reason
	maxHost    = 260
	maxReason  = 300 // bytes
)

// others is what the record calls hosts beyond its limits.
const others = "other hosts"

// record counts traffic.
type record struct {
	mu               sync.Mutex // guards what follows
	reached, refused map[entryKey]*entry
}

type entryKey struct{ host, reason string }

// entry is a [pawl.Contact] that counts.
type entry struct {
	requests, sent, received atomic.Int64
	barred                   bool
}

func newRecord() *record {
	return &record{reached: make(map[entryKey]*entry), refused: make(map[entryKey]*entry)}
}

// reach counts a request that reached a host. Its traffic is added to what is returned.
func (r *record) reach(host string) *entry {
	e, _, _ := r.count(r.reached, maxReached, entryKey{host: host}, false)
	return e
}

// refuse counts a request that did not reach what it asked for. It returns the contact that
// the request belongs to, and reports whether it is the first one of it.
func (r *record) refuse(host, reason string, barred bool) (c pawl.Contact, first bool) {
	e, key, first := r.count(r.refused, maxRefused, entryKey{clean(host, maxHost), clean(reason, maxReason)}, barred)
	return e.contact(key), first
}

func (r *record) count(in map[entryKey]*entry, limit int, key entryKey, barred bool) (e *entry, as entryKey, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if in[key] == nil && len(in) >= limit {
		if key.host = others; key.reason != "" {
			key.reason = "they are more than are listed"
		}
		barred = false
	}
	e = in[key]
	if first = e == nil; first {
		e = &entry{barred: barred}
		in[key] = e
	}
	e.requests.Add(1)
	return e, key, first
}

func (e *entry) contact(key entryKey) pawl.Contact {
	return pawl.Contact{
		Host: key.host, Refused: key.reason, Barred: e.barred,
		Requests: e.requests.Load(), Sent: e.sent.Load(), Received: e.received.Load(),
	}
}

// list returns the record, sorted; what was reached comes first.
func (r *record) list() []pawl.Contact {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []pawl.Contact
	for _, in := range []map[entryKey]*entry{r.reached, r.refused} {
		var part []pawl.Contact
		for key, e := range in {
			part = append(part, e.contact(key))
		}
		slices.SortFunc(part, func(a, b pawl.Contact) int {
			return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Refused, b.Refused))
		})
		out = append(out, part...)
	}
	return out
}

// clean makes what a client sent fit for a line.
func clean(s string, limit int) string {
	if len(s) > limit {
		s = s[:limit-3] + "..."
	}
	return strings.Map(func(c rune) rune {
		if c < ' ' || c > '~' {
			return '?'
		}
		return c
	}, s)
}

// counted is a connection to a host whose traffic is counted.
type counted struct {
	net.Conn
	entry *entry
	idle  time.Duration // without a byte either way; 0 means no bound
}

// extend moves the deadline, because the connection is in use.
func (c counted) extend() {
	if c.idle > 0 {
		_ = c.SetDeadline(time.Now().Add(c.idle))
	}
}

func (c counted) Read(p []byte) (int, error) {
	c.extend()
	n, err := c.Conn.Read(p)
	c.entry.received.Add(int64(n))
	return n, err
}

func (c counted) Write(p []byte) (int, error) {
	c.extend()
	n, err := c.Conn.Write(p)
	c.entry.sent.Add(int64(n))
	return n, err
}

// CloseWrite tells the host that no more comes.
func (c counted) CloseWrite() error { return closeWrite(c.Conn) }

// closeWrite ends one direction of a connection where that can be done.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}
