package exchange

import (
	"bytes"
	"errors"
	"sync"
)

// MaxLine is the size in bytes of the longest line that is read. Longer lines are skipped.
const MaxLine = 16 << 20

// splitter splits what is written to it into lines. It calls line for each line that is not blank,
// without the surrounding space, and long with the size of each line that is longer than MaxLine.
type splitter struct {
	line func([]byte)
	long func(size int)

	mu     sync.Mutex // guards what follows
	part   []byte
	size   int // of the line so far; part is nil if that exceeds MaxLine
	closed bool
}

func (s *splitter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errors.New("the reader is closed")
	}
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.add(p)
			return n, nil
		}
		s.add(p[:i])
		s.end()
		p = p[i+1:]
	}
}

func (s *splitter) add(p []byte) {
	if s.size += len(p); s.size > MaxLine {
		s.part = nil
		return
	}
	s.part = append(s.part, p...)
}

// close ends the last line. Nothing can be written after it.
func (s *splitter) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	s.closed = true
}

func (s *splitter) end() {
	switch line := bytes.TrimSpace(s.part); {
	case s.size > MaxLine:
		s.long(s.size)
	case len(line) > 0:
		s.line(line)
	}
	s.part, s.size = nil, 0
}
