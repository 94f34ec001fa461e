package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"pawl"
)

// Events implements [pawl.Service].
func (c *Client) Events(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		err := c.stream(ctx, run, "events", after, lines, func(u pawl.Update) bool { return yield(*u.Event, nil) })
		if err != nil {
			yield(pawl.Event{}, err)
		}
	}
}

// Watch implements [pawl.Service].
func (c *Client) Watch(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(yield func(pawl.Update, error) bool) {
		err := c.stream(ctx, run, "watch", after, messages, func(u pawl.Update) bool { return yield(u, nil) })
		if err != nil {
			yield(pawl.Update{}, err)
		}
	}
}

// errCut means that a stream stopped before its end.
var errCut = errors.New("the stream was cut off")

// stream reads a stream of a run's events until take wants no more. It asks for
// it again for as long as it gets on: a stream that is read too slowly is cut off.
func (c *Client) stream(ctx context.Context, run pawl.RunID, what string, after pawl.Seq,
	read func(io.Reader, func(pawl.Update) bool) error, take func(pawl.Update) bool,
) error {
	var lost time.Time // when it last stopped getting on
	for again := false; ; again = true {
		gotOn := false
		body, err := c.get(ctx, c.path(run, what)+fmt.Sprintf("?after=%d", after))
		cut := again && pawl.CodeOf(err) == pawl.CodeUnavailable
		if err == nil {
			err = read(body, func(u pawl.Update) bool {
				gotOn = true
				if u.Event != nil {
					after = u.Event.Seq
				}
				return take(u)
			})
			_ = body.Close()
			cut = errors.Is(err, errCut)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !cut:
			return err
		case gotOn:
			lost = time.Time{}
			continue
		case lost.IsZero():
			lost = time.Now()
		}
		if gone := c.wait(ctx, lost); errors.Is(gone, errCut) {
			return pawl.Errorf(pawl.CodeUnavailable, "the process that has the project has gone: %w", err).
				WithHint("pawl resume %s continues where it stopped", run)
		} else if gone != nil {
			return gone
		}
	}
}

// wait gives a daemon some time to be replaced by another. It returns an error when
// none is to come, and errCut when none has come for long enough.
func (c *Client) wait(ctx context.Context, lost time.Time) error {
	if c.gone != nil {
		if err := c.gone(ctx); err != nil {
			return err
		}
	}
	if time.Since(lost) >= c.patience {
		return errCut
	}
	select {
	case <-time.After(100 * time.Millisecond):
	case <-ctx.Done():
	}
	return nil
}

// lines reads events, one a line. A line that is an error ends them.
func lines(body io.Reader, take func(pawl.Update) bool) error {
	in := bufio.NewReader(body)
	for {
		line, err := in.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil
		case err != nil:
			return errCut
		case bytes.HasPrefix(line, []byte(`{"error":`)):
			var end struct{ Error problem }
			if err := json.Unmarshal(line, &end); err != nil {
				return foreign(err)
			}
			return end.Error.err()
		}
		var e pawl.Event
		if err := json.Unmarshal(line, &e); err != nil {
			return foreign(err)
		}
		if !take(pawl.Update{Event: &e}) {
			return nil
		}
	}
}

// messages reads server-sent events until the one that ends them. A kind that a
// newer server may have is passed over: what must not be missed is an event.
func messages(body io.Reader, take func(pawl.Update) bool) error {
	in := bufio.NewReader(body)
	for {
		kind, data, err := message(in)
		if err != nil {
			return errCut
		}
		var u pawl.Update
		switch kind {
		case "end":
			return nil
		case "error":
			var p problem
			if err := json.Unmarshal(data, &p); err != nil {
				return foreign(err)
			}
			return p.err()
		case "event":
			u.Event = &pawl.Event{}
			err = json.Unmarshal(data, u.Event)
		case "live":
			u.Live = &pawl.Live{}
			err = json.Unmarshal(data, u.Live)
		default:
			continue
		}
		if err != nil {
			return foreign(err)
		}
		if !take(u) {
			return nil
		}
	}
}

// message reads one server-sent event, passing over comments and what has no kind.
func message(in *bufio.Reader) (kind string, data []byte, err error) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", nil, err
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			if kind != "" {
				return kind, data, nil
			}
			continue
		}
		switch name, value, _ := strings.Cut(line, ": "); name {
		case "event":
			kind = value
		case "data":
			data = []byte(value)
		}
	}
}
