package server

import (
	"bytes"
	"crypto/sha256"
	"net/http"
	"slices"
	"sync"
	"time"

	"pawl"
)

// A request that changes something may name a key of its own choice. One that comes
// again with the same key is answered as the first was, and nothing is done twice;
// while the first is being answered, the others wait for it. What is remembered is
// in memory: a process that ends forgets.
const (
	keyHeader = "Idempotency-Key"
	// KeyTime is how long an answer is remembered.
	KeyTime = 10 * time.Minute
	// MaxKeys is how many answers are remembered; the oldest is forgotten first.
	MaxKeys = 4096
	// MaxKey is the longest key, in bytes.
	MaxKey = 128
)

// remembered is what was answered under a key.
type remembered struct {
	request [sha256.Size]byte
	began   time.Time
	done    chan struct{} // closed when it was answered
	status  int           // 0 = nothing to remember: it failed on our side
	media   string
	body    []byte
}

type once struct {
	mu    sync.Mutex
	keys  map[string]*remembered
	order []string // oldest first
	full  func()   // told when an answer is forgotten before its time
}

// do performs a request that has a key, or answers it again.
func (o *once) do(w http.ResponseWriter, c *call, key string, perform func(http.ResponseWriter)) {
	if len(key) > MaxKey {
		refuse(w, pawl.Errorf(pawl.CodeInvalid, "an %s has at most %d bytes", keyHeader, MaxKey))
		return
	}
	request := sha256.Sum256([]byte(c.Method + " " + c.URL.EscapedPath() + "\n" + string(c.body)))
	for {
		r, first := o.enter(key, request)
		if first {
			o.record(w, key, r, perform)
			return
		}
		if r.request != request {
			refuse(w, withStatus(http.StatusUnprocessableEntity,
				pawl.Errorf(pawl.CodeConflict, "%s %q was used for another request", keyHeader, key).WithHint("choose a new key")))
			return
		}
		select {
		case <-r.done:
		case <-c.Context().Done():
			return
		}
		if r.status != 0 {
			w.Header().Set("Content-Type", r.media)
			w.Header().Set("Idempotency-Replayed", "true")
			w.WriteHeader(r.status)
			_, _ = w.Write(r.body)
			return
		}
	}
}

// enter finds what a key stands for, or makes it the caller's to answer.
func (o *once) enter(key string, request [sha256.Size]byte) (r *remembered, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.order) > 0 && o.stale(o.order[0]) {
		o.forgetOldest()
	}
	if r := o.keys[key]; r != nil {
		return r, false
	}
	if len(o.order) >= MaxKeys {
		o.forgetOldest()
		if o.full != nil {
			o.full()
		}
	}
	if o.keys == nil {
		o.keys = map[string]*remembered{}
	}
	r = &remembered{request: request, began: time.Now(), done: make(chan struct{})}
	o.keys[key], o.order = r, append(o.order, key)
	return r, true
}

func (o *once) stale(key string) bool {
	return time.Since(o.keys[key].began) > KeyTime
}

func (o *once) forgetOldest() {
	delete(o.keys, o.order[0])
	o.order = o.order[1:]
}

// record performs a request and remembers its answer, unless it is a failure of
// ours: that one may be tried again.
func (o *once) record(w http.ResponseWriter, key string, r *remembered, perform func(http.ResponseWriter)) {
	k := &keeper{ResponseWriter: w, status: http.StatusOK}
	defer func() {
		if k.status < 500 && k.wrote {
			r.status, r.media, r.body = k.status, w.Header().Get("Content-Type"), k.body.Bytes()
		} else {
			o.mu.Lock()
			if o.keys[key] == r {
				delete(o.keys, key)
				o.order = slices.DeleteFunc(o.order, func(k string) bool { return k == key })
			}
			o.mu.Unlock()
		}
		close(r.done)
	}()
	perform(k)
}

// keeper keeps what is answered.
type keeper struct {
	http.ResponseWriter
	status int
	wrote  bool
	body   bytes.Buffer
}

func (k *keeper) WriteHeader(status int) {
	k.status = status
	k.ResponseWriter.WriteHeader(status)
}

func (k *keeper) Write(data []byte) (int, error) {
	k.wrote = true
	k.body.Write(data)
	return k.ResponseWriter.Write(data)
}

// Unwrap lets a [http.ResponseController] reach the connection.
func (k *keeper) Unwrap() http.ResponseWriter { return k.ResponseWriter }
