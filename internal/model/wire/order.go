package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// stableFirst puts the conversation behind everything else a request says, so
// that each request of a session begins with the bytes of the one before it.
// The SDKs write it before the tools and the system prompt. Providers read in an
// order of their own, but what stands between compares, compresses or keeps bytes.
func stableFirst(req *http.Request) error {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	if err := req.Body.Close(); err != nil {
		return err
	}
	body = conversationLast(body)
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
	return nil
}

// conversationLast moves the members that grow to the end of a JSON object;
// what is none stays as it is.
func conversationLast(body []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(body))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return body
	}
	var first, last [][]byte
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return body
		}
		name, _ := key.(string) // the keys of an object are
		quoted, err := json.Marshal(name)
		if err != nil {
			return body
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return body
		}
		member := append(append(quoted, ':'), value...)
		if name == "messages" || name == "input" { // what grows from turn to turn
			last = append(last, member)
		} else {
			first = append(first, member)
		}
	}
	if _, err := dec.Token(); err != nil || dec.More() {
		return body
	}
	out := append([]byte{'{'}, bytes.Join(append(first, last...), []byte{','})...)
	return append(out, '}')
}
