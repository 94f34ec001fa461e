package server

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// counter counts how often requests with keys are performed.
type counter struct {
	once
	status int // of the answer; 0 means no answer
	done   int // the number of requests that were performed
}

// ask sends a request with a key and returns the answer.
func (k *counter) ask(ctx context.Context, key string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	c := &call{Request: httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/runs", nil)}
	k.do(w, c, key, func(w http.ResponseWriter) {
		k.done++
		if k.status != 0 {
			w.WriteHeader(k.status)
			_, _ = fmt.Fprintf(w, "answer %d", k.done)
		}
	})
	return w
}

func TestKeys(t *testing.T) {
	t.Run("Expire", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			k := &counter{status: 200}
			k.ask(t.Context(), "first")
			time.Sleep(10 * time.Minute) //nolint:forbidigo // fake time
			if w := k.ask(t.Context(), "first"); k.done != 1 || w.Body.String() != "answer 1" || w.Header().Get("Idempotency-Replayed") != "true" {
				t.Errorf("after ten minutes the answer is %q, performed %d times", w.Body, k.done)
			}
			k.ask(t.Context(), "second")
			time.Sleep(time.Second) //nolint:forbidigo // fake time
			if k.ask(t.Context(), "second"); k.done != 2 || !slices.Equal(k.order, []string{"second"}) {
				t.Errorf("performed %d times, remembered keys %q", k.done, k.order)
			}
			if w := k.ask(t.Context(), "first"); k.done != 3 || w.Body.String() != "answer 3" || w.Header().Get("Idempotency-Replayed") != "" {
				t.Errorf("after more than ten minutes the answer is %q, performed %d times", w.Body, k.done)
			}
			if !slices.Equal(k.order, []string{"second", "first"}) || len(k.keys) != 2 {
				t.Errorf("the remembered keys are %q", k.order)
			}
		})
	})
	t.Run("OfFailuresAreNotRemembered", func(t *testing.T) {
		for status, remembered := range map[int]bool{0: false, 200: true, 404: true, 499: true, 500: false, 503: false} {
			k := &counter{status: 200}
			k.ask(t.Context(), "before")
			k.status = status
			k.ask(t.Context(), "key")
			want := []string{"before"}
			if remembered {
				want = append(want, "key")
			}
			if !slices.Equal(k.order, want) || len(k.keys) != len(want) {
				t.Fatalf("after an answer with status %d, the remembered keys are %q", status, k.order)
			}
			k.ask(t.Context(), "key")
			if again := k.done == 3; again == remembered {
				t.Errorf("after an answer with status %d, performed again: %v", status, again)
			}
		}
	})
	t.Run("AreLimitedInLength", func(t *testing.T) {
		k := &counter{status: 200}
		for length, status := range map[int]int{MaxKey: 200, MaxKey + 1: 400} {
			if w := k.ask(t.Context(), strings.Repeat("x", length)); w.Code != status {
				t.Errorf("a key of %d bytes: status %d", length, w.Code)
			}
		}
	})
	t.Run("DoNotBlockAClientThatHasGone", func(t *testing.T) {
		k := &counter{status: 200}
		k.ask(t.Context(), "key")
		k.keys["key"].done = make(chan struct{}) // the first request is still in progress
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if w := k.ask(ctx, "key"); k.done != 1 || w.Body.Len() > 0 {
			t.Errorf("the answer is %q, performed %d times", w.Body, k.done)
		}
	})
}
