package callback

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pawl"
)

const question = `{"run":"001-x","question":3}`

func announce(t *testing.T, s *Sender, to pawl.Announcing) (int, error) {
	t.Helper()
	return s.Announce(t.Context(), to, "001-x/question-3", []byte(question), []string{"PAWL_RUN=001-x", "PAWL_QUESTION=3", "PAWL_KIND=clarify"})
}

// A command and an address hear the same. V-77
func TestAnnounce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "heard")
	var body []byte
	var signature string
	hook := local(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		signature = r.Header.Get(HeaderSignature)
		w.WriteHeader(http.StatusNoContent)
	})
	t.Setenv("HEARD", file)
	to := pawl.Announcing{Command: `{ echo "$PAWL_RUN $PAWL_QUESTION $PAWL_KIND"; cat; } > "$HEARD"; echo noise`, Callback: &hook}
	status, err := announce(t, &Sender{Secret: "s3cret"}, to)
	if status != http.StatusNoContent || err != nil {
		t.Fatalf("%d, %v", status, err)
	}
	heard, err := os.ReadFile(file)
	if want := "001-x 3 clarify\n" + question; string(heard) != want || err != nil {
		t.Errorf("the command heard %q, want %q (%v)", heard, want, err)
	}
	if string(body) != question || !strings.HasPrefix(signature, "v1=") {
		t.Errorf("the address heard %q, signed %q", body, signature)
	}
	if status, err := announce(t, &Sender{}, pawl.Announcing{Command: "true"}); status != 0 || err != nil {
		t.Errorf("a command alone: %d, %v", status, err)
	}
}

// What goes wrong with one does not keep the other from hearing of it.
func TestAnnounceFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "heard")
	t.Setenv("HEARD", file)
	calls := 0
	good := local(t, func(http.ResponseWriter, *http.Request) { calls++ })
	bad := local(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	private := pawl.Callback{URL: strings.Replace(good.URL, "http:", "https:", 1)}
	for name, test := range map[string]struct {
		to    pawl.Announcing
		code  pawl.Code
		says  string
		calls int
		heard bool
	}{
		"Command": {pawl.Announcing{Command: `echo x > "$HEARD"; exit 3`, Callback: &good}, pawl.CodeUnavailable, "failed (exit 3)", 1, true},
		"Address": {pawl.Announcing{Command: `echo x > "$HEARD"`, Callback: &bad}, pawl.CodeInvalid, "HTTP 410", 0, true},
		"Private": {pawl.Announcing{Callback: &private}, pawl.CodeInvalid, "not a public address", 0, false},
		"Both":    {pawl.Announcing{Command: "no-such-program", Callback: &bad}, pawl.CodeUnavailable, "failed (exit 127); the callback", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			calls = 0
			_ = os.Remove(file)
			_, err := announce(t, &Sender{}, test.to)
			if err == nil || pawl.CodeOf(err) != test.code || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v (%s), want %s that says %q", err, pawl.CodeOf(err), test.code, test.says)
			}
			if e, _ := errors.AsType[*pawl.Error](err); name == "Private" && e.Hint != "if that is meant: announce.allow_private" {
				t.Errorf("the hint is %q", e.Hint)
			}
			if _, err := os.Stat(file); calls != test.calls || (err == nil) != test.heard {
				t.Errorf("%d calls, the command: %v", calls, err)
			}
		})
	}
}
