package exchange

import (
	"bytes"
	"errors"
	"sync"
)

// MaxLine is how many bytes of a line are read. A longer line is left out.
const MaxLine = 16 << 20

// splitter makes lines of what is written to it. It calls line with each one, without its end, and
// long with the size of each that is longer than MaxLine.
type splitter struct {
	line func([]byte)
	long func(size int)

	mu     sync.Mutex // guards what follows
	part   []byte
	size   int // of the line so far, of which part may have less
	closed bool
}

func (s *splitter) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errors.New("nobody reads this any more")
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
