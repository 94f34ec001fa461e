package loopfolder

import (
	"bytes"
	"encoding/json"
	"fmt"

	"pawl/internal/view"
)

// Loops are the records of all loops, one JSON document a line, as Loopr's loops.jsonl
// has them.
func Loops(rs *view.Records, blobs view.Blobs) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, r := range rs.Loops {
		if err := enc.Encode(rs.Full(r, blobs)); err != nil {
			return nil, fmt.Errorf("write loop %s: %w", r.ID, err)
		}
	}
	return out.Bytes(), nil
}

// Signals are all signals, one JSON document a line, as Loopr's signals.jsonl has them.
func Signals(rs *view.Records, blobs view.Blobs) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, s := range rs.Signals {
		if err := enc.Encode(rs.FullSignal(s, blobs)); err != nil {
			return nil, fmt.Errorf("write signal %s: %w", s.ID, err)
		}
	}
	return out.Bytes(), nil
}
