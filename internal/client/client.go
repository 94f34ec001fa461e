// Package client implements pawl.Service over the socket of the process that
// owns a project (internal/server speaks the other side).
//
// A stream that is cut off is asked for again from where it stopped, as long as
// it gets on; so neither Events nor Watch loses or repeats an event, however
// slowly it is read. A stream whose owner has gone is [pawl.CodeUnavailable].
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"pawl"
)

// Client is a connection to the owner of a project. It implements [pawl.Service].
type Client struct {
	http *http.Client
	at   string // where the project is served
	// patience is how long a stream that was cut off waits for another process to go on
	// with it; zero = not at all.
	patience time.Duration
	// gone is [Daemon.Gone].
	gone func(ctx context.Context) error
}

var (
	_ pawl.Service   = (*Client)(nil)
	_ pawl.Caches    = (*Client)(nil)
	_ pawl.Deletions = (*Client)(nil)
)

// New makes a client of the socket of a process that has one project. It connects
// with the first call.
func New(socket string) *Client { return &Client{http: over(socket), at: "/v1"} }

func over(socket string) *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &http.Client{Transport: &http.Transport{DialContext: dial, DisableCompression: true}}
}

// Send lets a header go with every request from now on. It is called before the first.
func (c *Client) Send(header http.Header) { c.http.Transport = headed{c.http.Transport, header} }

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Start implements [pawl.Service].
func (c *Client) Start(ctx context.Context, req pawl.StartRequest) (info pawl.RunInfo, err error) {
	err = c.call(ctx, http.MethodPost, c.at+"/runs", req, &info)
	return info, err
}

// Preview implements [pawl.Service].
func (c *Client) Preview(ctx context.Context, req pawl.StartRequest) (preview pawl.StartPreview, err error) {
	err = c.call(ctx, http.MethodPost, c.at+"/runs/preview", req, &preview)
	return preview, err
}

// Steer implements [pawl.Service].
func (c *Client) Steer(ctx context.Context, run pawl.RunID, s pawl.Steering) error {
	return c.call(ctx, http.MethodPost, c.path(run, "steer"), s, &struct{}{})
}

// Fork implements [pawl.Service].
func (c *Client) Fork(ctx context.Context, run pawl.RunID, at pawl.Seq) (info pawl.RunInfo, err error) {
	err = c.call(ctx, http.MethodPost, c.path(run, "fork"), map[string]pawl.Seq{"at": at}, &info)
	return info, err
}

// Runs implements [pawl.Service].
func (c *Client) Runs(ctx context.Context) (runs []pawl.RunInfo, err error) {
	err = c.call(ctx, http.MethodGet, c.at+"/runs", nil, &runs)
	return runs, err
}

// Recall implements [pawl.Service]. The question goes in a body, because a text
// to look for may be too long for an address.
func (c *Client) Recall(ctx context.Context, q pawl.MemoryQuery) (found []pawl.MemoryEntry, err error) {
	err = c.call(ctx, http.MethodPost, c.at+"/recall", q, &found)
	return found, err
}

// Cache implements [pawl.Caches].
func (c *Client) Cache(ctx context.Context) (info pawl.CacheInfo, err error) {
	err = c.call(ctx, http.MethodGet, c.at+"/cache", nil, &info)
	return info, err
}

// PruneCache implements [pawl.Caches].
func (c *Client) PruneCache(ctx context.Context, req pawl.PruneRequest) (result pawl.PruneResult, err error) {
	err = c.call(ctx, http.MethodPost, c.at+"/cache/prune", req, &result)
	return result, err
}

// DeleteRun implements [pawl.Deletions].
func (c *Client) DeleteRun(ctx context.Context, run pawl.RunID, req pawl.DeleteRequest) (d pawl.Deletion, err error) {
	err = c.call(ctx, http.MethodPost, c.path(run, "delete"), req, &d)
	return d, err
}

// DeletedRuns implements [pawl.Deletions].
func (c *Client) DeletedRuns(ctx context.Context) (all []pawl.Tombstone, err error) {
	err = c.call(ctx, http.MethodGet, c.at+"/deleted", nil, &all)
	return all, err
}

// Garbage implements [pawl.Deletions].
func (c *Client) Garbage(ctx context.Context) (g pawl.Garbage, err error) {
	err = c.call(ctx, http.MethodGet, c.at+"/garbage", nil, &g)
	return g, err
}

// CollectGarbage implements [pawl.Deletions].
func (c *Client) CollectGarbage(ctx context.Context) (g pawl.Garbage, err error) {
	err = c.call(ctx, http.MethodPost, c.at+"/garbage/collect", struct{}{}, &g)
	return g, err
}

// Blob implements [pawl.Service].
func (c *Client) Blob(ctx context.Context, run pawl.RunID, h pawl.Hash) ([]byte, error) {
	body, err := c.get(ctx, c.path(run, "blobs", h.String()))
	if err != nil {
		return nil, err
	}
	defer body.Close()
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, broken(ctx, err)
	}
	if pawl.HashOf(data) != h {
		return nil, pawl.Errorf(pawl.CodeDamaged, "blob %s arrived damaged", h.Short())
	}
	return data, nil
}

func (c *Client) path(run pawl.RunID, parts ...string) string {
	return c.at + "/runs/" + part(string(run)) + "/" + strings.Join(parts, "/")
}

// part is a part of an address. One of dots alone would be a way up.
func part(text string) string {
	if strings.Trim(text, ".") == "" {
		return strings.Repeat("%2e", len(text))
	}
	return url.PathEscape(text)
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
	data, err := io.ReadAll(rc)
	if err != nil {
		return broken(ctx, err)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return foreign(err)
	}
	return nil
}

func (c *Client) get(ctx context.Context, path string) (io.ReadCloser, error) {
	return c.do(ctx, http.MethodGet, path, nil)
}

// do sends a request and returns the body of the answer when it is no error.
func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://pawl"+path, body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, broken(ctx, errors.Unwrap(err)) // the URL says nothing to anybody
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	var p problem
	if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&p); err != nil || p.Code == "" {
		return nil, foreign(fmt.Errorf("it answered %s", resp.Status))
	}
	return nil, p.err()
}

// problem is an error as it comes over the wire. Processes of pawl before the
// daemon say message where problem details have detail.
type problem struct {
	Code    pawl.Code `json:"code"`
	Detail  string    `json:"detail"`
	Message string    `json:"message"`
	Hint    string    `json:"hint"`
	About   pawl.Hash `json:"about"`
	Field   string    `json:"field"`
}

func (p problem) err() *pawl.Error {
	if p.Detail == "" {
		p.Detail = p.Message
	}
	return &pawl.Error{Code: p.Code, Message: p.Detail, Hint: p.Hint, About: p.About, Field: p.Field}
}

// broken is the error of a connection that could not be made or did not last.
func broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return pawl.Errorf(pawl.CodeUnavailable, "the process that has the project does not answer: %w", err).
		WithHint("try again: it may have been just ending")
}

// foreign is the error of an answer that cannot be understood.
func foreign(err error) error {
	return pawl.Errorf(pawl.CodeUnavailable, "the process that has the project answers what this pawl does not understand: %w", err).
		WithHint("it may be another version of pawl (pawl doctor tells): let its runs end, or use that version")
}
