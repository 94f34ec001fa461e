package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"pawl"
)

// stdoutLimit is how many bytes of standard output alone are kept.
const stdoutLimit = 16 << 20

// capture keeps the head and the tail of what a command prints. However much
// that is, it holds at most the head, twice the tail and stdoutLimit bytes.
type capture struct {
	mu       sync.Mutex
	headSize int
	tailSize int
	head     []byte
	tail     []byte // what came after the head; its last tailSize bytes count
	total    int64
	stdout   []byte

	// sending is held while progress runs, so that pieces arrive one by one
	// and a progress function that blocks never blocks result.
	sending  sync.Mutex
	progress func([]byte)

	sink io.Writer // if not nil, it receives standard output, and nothing of it is kept
}

func newCapture(cmd *pawl.Command) *capture {
	return &capture{headSize: cmd.Keep / 2, tailSize: cmd.Keep - cmd.Keep/2, progress: cmd.Progress, sink: cmd.Stdout}
}

// stream is one of the two output streams of a command.
type stream struct {
	capture *capture
	alone   bool // standard output is also kept alone
}

var _ io.Writer = stream{}

func (s stream) Write(p []byte) (int, error) {
	c := s.capture
	if s.alone && c.sink != nil {
		_, _ = c.sink.Write(p) // output that it refuses is lost; the command continues
		return len(p), nil
	}
	c.mu.Lock()
	c.add(p)
	if s.alone {
		c.stdout = append(c.stdout, p[:min(len(p), stdoutLimit-len(c.stdout))]...)
	}
	c.mu.Unlock()

	if c.progress != nil {
		c.sending.Lock()
		defer c.sending.Unlock()
		c.progress(bytes.Clone(p)) // p is used again for the next read
	}
	return len(p), nil
}

func (c *capture) add(p []byte) {
	c.total += int64(len(p))
	n := min(len(p), c.headSize-len(c.head))
	c.head = append(c.head, p[:n]...)
	p = p[n:]
	if len(p) > c.tailSize {
		p = p[len(p)-c.tailSize:]
	}
	c.tail = append(c.tail, p...)
	if len(c.tail) > 2*c.tailSize {
		c.tail = c.tail[:copy(c.tail, c.tail[len(c.tail)-c.tailSize:])]
	}
}

// result returns what was kept, as valid UTF-8, and how many bytes were not.
func (c *capture) result() (output, stdout []byte, dropped int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total <= int64(c.headSize+c.tailSize) {
		return replaceInvalid(append(bytes.Clone(c.head), c.tail...)), c.stdout, 0
	}
	head := trimPartialEnd(c.head)
	tail := trimPartialStart(c.tail[max(0, len(c.tail)-c.tailSize):])
	dropped = c.total - int64(len(head)) - int64(len(tail))
	output = bytes.Clone(head)
	output = fmt.Appendf(output, "\n[… %d bytes cut …]\n", dropped)
	output = append(output, tail...)
	return replaceInvalid(output), c.stdout, dropped
}

// trimPartialEnd cuts a rune that was split by the end of b.
func trimPartialEnd(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// trimPartialStart cuts the rest of a rune that was split before b.
func trimPartialStart(b []byte) []byte {
	for i := range min(len(b), utf8.UTFMax) {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}

// replaceInvalid turns every byte that is not part of a rune into a question
// mark, in place: the length stays what the limits promise.
func replaceInvalid(b []byte) []byte {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			b[i] = '?'
		}
		i += size
	}
	return b
}
