//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"pawl"
	"pawl/internal/callback"
)

// The callback address of a run receives the signed outcome. A failed delivery is tried
// again under the same delivery id, and an address that always fails does not change the
// run. L-29 L-30
func TestCallbackHearsTheEnd(t *testing.T) {
	t.Parallel()
	bin, secret := pawlProgram(t), "a secret of the two"
	for _, refuse := range []int{1, 100} {
		t.Run(fmt.Sprintf("Refused%d", refuse), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex // guards heard and bodies
			var heard []*http.Request
			var bodies [][]byte
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				heard, bodies = append(heard, r), append(bodies, body)
				if len(heard) <= refuse {
					w.WriteHeader(http.StatusInternalServerError)
				}
			}))
			v := newVictim(t, bin, quickScript, map[string]string{"README": "a repository\n"}, "do it", "--recipe", "taskloop", "--unsandboxed", "--gate", "tests=true",
				"--callback", server.URL, "--callback-private")
			v.env = append(v.env, "PAWL_CALLBACK_SECRET="+secret)
			v.finish(t)
			server.Close()
			if s := v.state(t); s.Outcome != pawl.OutcomeComplete {
				t.Fatalf("%s: %s\n%s", s.Outcome, s.Reason, v.out.String())
			}
			if want := min(refuse+1, 3); len(heard) != want {
				t.Fatalf("the address received %d requests, want %d", len(heard), want)
			}
			for i, r := range heard {
				if got, want := r.Header.Get("Pawl-Signature"), callback.Sign(secret, r.Header.Get("Pawl-Timestamp"), bodies[i]); got != want {
					t.Errorf("the signature is %q, want %q", got, want)
				}
				if r.Header.Get("Pawl-Delivery") != heard[0].Header.Get("Pawl-Delivery") {
					t.Errorf("request %d has another delivery id", i+1)
				}
			}
			var said struct{ Event, Run, Outcome string }
			if err := json.Unmarshal(bodies[0], &said); err != nil || said.Event != "task_completed" || said.Outcome != "complete" || said.Run != "001-do-it" {
				t.Errorf("%v: %s", err, bodies[0])
			}
			noSecretIn(t, v.home, secret)
		})
	}
}
