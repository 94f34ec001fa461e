//go:build unix

package callback

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pawl"
)

// A command that hangs is ended with what it started, and one that leaves its
// input alone is no trouble.
func TestAnnounceHangs(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "alive")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ALIVE", fifo)
	began := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		f, err := os.Open(fifo) // until a writer is there
		close(began)
		if err == nil {
			_, err = io.ReadAll(f) // until no writer is left
			err = errors.Join(err, f.Close())
		}
		ended <- err
	}()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	_, err := new(Sender).Announce(ctx, pawl.Announcing{Command: `exec 3> "$ALIVE"; sleep 1000 & sleep 1000; wait`}, "d", []byte("{}"), nil)
	if err == nil {
		t.Error("a command that was stopped did not fail")
	}
	if err := <-ended; err != nil { // all that held the pipe are gone
		t.Error(err)
	}
	if _, err := announce(t, &Sender{commandLimit: time.Millisecond}, pawl.Announcing{Command: "sleep 1000"}); err == nil || !strings.Contains(err.Error(), "took longer than 1ms") {
		t.Errorf("a command that is late: %v", err)
	}
	if _, err := new(Sender).Announce(t.Context(), pawl.Announcing{Command: "exec <&-; true"}, "d", make([]byte, 1<<20), nil); err != nil {
		t.Errorf("a command that does not read: %v", err)
	}
}
