package tui

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pawl"
)

// TestMain shows the program on a world of stories instead of testing it, where
// PAWL_TUI_TRY is set: go test -c ./internal/tui && PAWL_TUI_TRY=1 ./tui.test
func TestMain(m *testing.M) {
	time.Local = time.UTC // screens have times of day
	if os.Getenv("PAWL_TUI_TRY") == "" {
		os.Exit(m.Run())
	}
	t := &testing.T{}
	w := both(t)
	s := w.begin(t, "shop", "003-login", "Add login with a password")
	s.grown()
	id := s.speaks()
	go func() {
		i := 0
		for range time.Tick(300 * time.Millisecond) { // somebody speaks at a human pace
			s.live(id, fmt.Sprintf(" word%d", i))
			s.wait(300 * time.Millisecond)
			if i%20 == 19 {
				s.add(8, &pawl.SignalSent{N: i, Signal: pawl.SignalInfo, Reason: fmt.Sprintf("line %d", i), By: "ada"})
			}
			i++
		}
	}()
	locale := strings.ToLower(os.Getenv("LC_ALL") + os.Getenv("LANG"))
	err := Run(context.Background(), Options{Open: w.open, In: os.Stdin, Out: os.Stdout, Environ: os.Environ(), By: "ada", Color: os.Getenv("NO_COLOR") == "",
		ASCII: !strings.Contains(locale, "utf"), Now: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now },
		Diff: func(context.Context, string, pawl.CommitHash, pawl.CommitHash) ([]byte, error) {
			return []byte(diffText), nil
		}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
