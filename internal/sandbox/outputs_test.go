//go:build unix

package sandbox

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"
)

// slow is a writer that takes nothing before it is ready.
type slow struct {
	text  bytes.Buffer
	ready chan struct{}
}

func (s *slow) Write(p []byte) (int, error) {
	<-s.ready
	return s.text.Write(p)
}

// All that was printed is read, even by a reader so slow that the delay has passed.
func TestSlowReaderLosesNothing(t *testing.T) {
	for _, open := range []bool{false, true} {
		var o outputs
		out, more := &slow{ready: make(chan struct{})}, &slow{ready: make(chan struct{})}
		theirs, err := o.pipes(out, more)
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("0123456789abcdef", 1<<12) // as much as a pipe holds
		for i, text := range []string{"all\n", long} {
			if _, err := theirs[i].WriteString(text); err != nil {
				t.Fatal(err)
			}
		}
		for _, f := range o.from {
			if err := f.SetReadDeadline(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
		}
		if !open {
			closeAll(theirs)
		}
		close(out.ready)
		close(more.ready)
		o.end(0)
		if out.text.String() != "all\n" || more.text.String() != long || o.cut.Load() != open {
			t.Errorf("with pipes that stay open (%t) it read %q and %d bytes; more might come: %t", open, &out.text, more.text.Len(), o.cut.Load())
		}
		if open {
			closeAll(theirs)
		}
	}
}

// refilling is a writer that writes what it is given to a pipe.
type refilling struct{ pipe chan *os.File }

func (r refilling) Write(p []byte) (int, error) {
	pipe := <-r.pipe
	defer func() { r.pipe <- pipe }()
	return pipe.Write(p)
}

// Another process that prints endlessly to the pipe does not keep the reader.
func TestLateOutputIsCut(t *testing.T) {
	var o outputs
	again := refilling{make(chan *os.File, 1)}
	theirs, err := o.pipes(again)
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(theirs)
	if _, err := theirs[0].Write(make([]byte, os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	again.pipe <- theirs[0]
	o.end(0)
	if !o.cut.Load() {
		t.Error("output that was cut counts as whole")
	}
}
