// Package client implements pawl.Service over the socket of the process that
// owns a project (internal/server speaks the other side).
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
	"net"
	"net/http"
	"net/url"
	"strings"

	"pawl"
)

// Client is a connection to the owner of a project. It implements [pawl.Service].
type Client struct{ http *http.Client }

var _ pawl.Service = (*Client)(nil)

// New makes a client of the socket. It connects with the first call.
func New(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &Client{&http.Client{Transport: &http.Transport{DialContext: dial}}}
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Start implements [pawl.Service].
func (c *Client) Start(ctx context.Context, req pawl.StartRequest) (info pawl.RunInfo, err error) {
	err = c.call(ctx, http.MethodPost, "/v1/runs", req, &info)
	return info, err
}

// Steer implements [pawl.Service].
func (c *Client) Steer(ctx context.Context, run pawl.RunID, s pawl.Steering) error {
	return c.call(ctx, http.MethodPost, path(run, "steer"), s, &struct{}{})
}

// Runs implements [pawl.Service].
func (c *Client) Runs(ctx context.Context) (runs []pawl.RunInfo, err error) {
	err = c.call(ctx, http.MethodGet, "/v1/runs", nil, &runs)
	return runs, err
}

// Events implements [pawl.Service].
func (c *Client) Events(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Event, error] {
	return func(yield func(pawl.Event, error) bool) {
		body, err := c.get(ctx, path(run, "events")+fmt.Sprintf("?after=%d", after))
		if err != nil {
			yield(pawl.Event{}, err)
			return
		}
		defer body.Close()
		dec := json.NewDecoder(body)
		for dec.More() {
			var line json.RawMessage
			var e pawl.Event
			var end struct{ Error *pawl.Error }
			if err = dec.Decode(&line); err == nil {
				if json.Unmarshal(line, &end) == nil && end.Error != nil {
					err = end.Error
				} else {
					err = json.Unmarshal(line, &e)
				}
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// Watch implements [pawl.Service]. A stream that breaks before its end is
// [pawl.CodeUnavailable]: the owner has gone.
func (c *Client) Watch(ctx context.Context, run pawl.RunID, after pawl.Seq) iter.Seq2[pawl.Update, error] {
	return func(yield func(pawl.Update, error) bool) {
		body, err := c.get(ctx, path(run, "watch")+fmt.Sprintf("?after=%d", after))
		if err != nil {
			yield(pawl.Update{}, err)
			return
		}
		defer body.Close()
		in := bufio.NewReaderSize(body, 64<<10)
		for {
			kind, data, err := next(in)
			if err != nil {
				if ctx.Err() != nil {
					err = ctx.Err()
				} else {
					err = pawl.Errorf(pawl.CodeUnavailable, "the process that ran it has gone").
						WithHint("pawl resume %s goes on where it stopped", run)
				}
				yield(pawl.Update{}, err)
				return
			}
			u, end, err := update(kind, data)
			if end || (!yield(u, err) || err != nil) {
				return
			}
		}
	}
}

// next reads one server-sent event, passing over comments.
func next(in *bufio.Reader) (kind, data string, err error) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", "", err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			kind = value
		case "data":
			data = value
		case "":
			if kind != "" {
				return kind, data, nil
			}
		}
	}
}

func update(kind, data string) (u pawl.Update, end bool, err error) {
	switch kind {
	case "event":
		u.Event = &pawl.Event{}
		err = json.Unmarshal([]byte(data), u.Event)
	case "live":
		u.Live = &pawl.Live{}
		err = json.Unmarshal([]byte(data), u.Live)
	case "error":
		var e pawl.Error
		if err = json.Unmarshal([]byte(data), &e); err == nil {
			err = &e
		}
	case "end":
		end = true
	}
	return u, end, err
}

// Blob implements [pawl.Service].
func (c *Client) Blob(ctx context.Context, run pawl.RunID, h pawl.Hash) ([]byte, error) {
	body, err := c.get(ctx, path(run, "blobs", h.String()))
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("read blob %s: %w", h.Short(), err)
	}
	if pawl.HashOf(data) != h {
		return nil, pawl.Errorf(pawl.CodeDamaged, "blob %s arrived damaged", h.Short())
	}
	return data, nil
}

func path(run pawl.RunID, parts ...string) string {
	return "/v1/runs/" + url.PathEscape(string(run)) + "/" + strings.Join(parts, "/")
}

func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("encode the request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	rc, err := c.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer rc.Close()
	if err := json.NewDecoder(rc).Decode(out); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

func (c *Client) get(ctx context.Context, path string) (io.ReadCloser, error) {
	return c.do(ctx, http.MethodGet, path, nil)
}

func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://pawl"+path, body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, pawl.Errorf(pawl.CodeUnavailable, "the process that owns the project does not answer: %w", errors.Unwrap(err))
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	var e pawl.Error
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&e); err != nil || e.Code == "" {
		return nil, pawl.Errorf(pawl.CodeInternal, "the owner of the project answered %s", resp.Status)
	}
	return nil, &e
}
