package toolserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connection reads and writes the messages of one client, one per line. It is used instead of the
// SDK's [mcp.IOTransport], which ends the session if a line is not valid and puts no bound on the
// number of requests at once.
type connection struct {
	conn   net.Conn
	reader *bufio.Reader
	slots  chan struct{} // has an element for each request without a response
	closed chan struct{}
	close  func() error // closes conn and closed, once

	writing sync.Mutex // held during a write
	mu      sync.Mutex // guards open
	open    map[jsonrpc.ID]bool
}

func newConnection(conn net.Conn) *connection {
	c := &connection{
		conn: conn, reader: bufio.NewReader(conn), open: make(map[jsonrpc.ID]bool),
		slots: make(chan struct{}, maxCalls), closed: make(chan struct{}),
	}
	c.close = sync.OnceValue(func() error {
		close(c.closed)
		return conn.Close()
	})
	return c
}

// Connect implements [mcp.Transport].
func (c *connection) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID implements [mcp.Connection].
func (c *connection) SessionID() string { return "" }

// Close closes the connection. A Read or Write that is blocked returns.
func (c *connection) Close() error { return c.close() }

// Read returns the next valid message. It answers lines that are not valid itself.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		line, err := c.readLine()
		if err != nil {
			return nil, err
		}
		if !utf8.Valid(line) {
			line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		msg, err := jsonrpc.DecodeMessage(line)
		if err == nil {
			isNew, err := c.begin(ctx, msg)
			if isNew || err != nil {
				return msg, err
			}
			if err := c.refuse(jsonrpc.CodeInvalidRequest, "the ID of the request is in use"); err != nil {
				return nil, err
			}
			continue
		}
		code := int64(jsonrpc.CodeInvalidRequest)
		if !json.Valid(line) {
			code = jsonrpc.CodeParseError
		}
		if err := c.refuse(code, err.Error()); err != nil {
			return nil, err
		}
	}
}

// readLine returns the next line, without its end. It is an error if it is longer than maxMessage.
func (c *connection) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := c.reader.ReadSlice('\n')
		if len(line)+len(part) > maxMessage+1 {
			return nil, fmt.Errorf("a message has more than %d bytes", maxMessage)
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line[:len(line)-1], nil
		case errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0:
			return line, nil // the next call returns io.EOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// begin waits until another request may run. It reports whether the message is new: not a request
// with the ID of another one that has no response yet.
func (c *connection) begin(ctx context.Context, msg jsonrpc.Message) (isNew bool, err error) {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || !req.IsCall() {
		return true, nil
	}
	c.mu.Lock()
	used := c.open[req.ID]
	c.open[req.ID] = true
	c.mu.Unlock()
	if used {
		return false, nil
	}
	select {
	case c.slots <- struct{}{}:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	case <-c.closed:
		return false, net.ErrClosed
	}
}

// end makes room for another request after a response.
func (c *connection) end(msg jsonrpc.Message) {
	res, ok := msg.(*jsonrpc.Response)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[res.ID] {
		delete(c.open, res.ID)
		<-c.slots
	}
}

// refuse sends an error for a line that cannot be attributed to a request.
func (c *connection) refuse(code int64, reason string) error {
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": reason},
	})
	if err != nil {
		return err
	}
	return c.writeLine(line)
}

// Write implements [mcp.Connection].
func (c *connection) Write(_ context.Context, msg jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	err = c.writeLine(line)
	c.end(msg)
	return err
}

func (c *connection) writeLine(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.conn.Write(append(line, '\n'))
	return err
}
