package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"pawl/internal/delegate/exchange"
)

// Codes of JSON-RPC 2.0, and of the Agent Client Protocol.
const (
	codeNoMethod = -32601
	codeAuth     = -32000 // the user has to log in first
)

// rpcError is the error of a response.
type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *rpcError) Error() string {
	var data struct {
		Details string `json:"details"`
		Message string `json:"message"`
	}
	_ = json.Unmarshal(e.Data, &data) // what cannot be read says nothing more
	for _, more := range []string{data.Details, data.Message} {
		if more != "" {
			return e.Message + ": " + more
		}
	}
	return e.Message
}

// packet is a message of JSON-RPC: a request has a Method and an ID, a notification only a Method, and
// a response only an ID.
type packet struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// errGone is the error of a call that will not be answered because the agent has ended.
var errGone = errors.New("the agent ended before it answered")

// conn is a connection to an agent. Its methods may be called concurrently, except listen.
type conn struct {
	x *exchange.Exchange
	// notify handles a notification, and answer a request. Both are called by listen.
	notify func(method string, params json.RawMessage)
	answer func(method string, params json.RawMessage) (any, *rpcError)

	mu    sync.Mutex // guards what follows
	next  int64
	calls map[string]chan packet // by id; nil after listen has returned
}

func newConn(x *exchange.Exchange) *conn { return &conn{x: x, calls: make(map[string]chan packet)} }

// listen handles messages until the exchange is over. Open calls then fail.
func (c *conn) listen() {
	defer c.fail()
	for {
		raw, ok := c.x.Line()
		if !ok {
			return
		}
		var p packet
		if json.Unmarshal(raw, &p) != nil {
			continue
		}
		switch {
		case p.Method != "" && len(p.ID) > 0:
			result, err := c.answer(p.Method, p.Params)
			c.reply(p.ID, result, err)
		case p.Method != "":
			c.notify(p.Method, p.Params)
		default:
			c.arrived(p)
		}
	}
}

// arrived delivers a response to its call. A response without a call is dropped.
func (c *conn) arrived(p packet) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wait := c.calls[string(p.ID)]; wait != nil {
		delete(c.calls, string(p.ID))
		wait <- p
	}
}

func (c *conn) fail() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, wait := range c.calls {
		close(wait)
	}
	c.calls = nil
}

// call sends a request, waits for the response and decodes its result.
func (c *conn) call(method string, params, result any) error {
	wait := make(chan packet, 1)
	c.mu.Lock()
	if c.calls == nil {
		c.mu.Unlock()
		return errGone
	}
	c.next++
	id := strconv.FormatInt(c.next, 10)
	c.calls[id] = wait
	c.mu.Unlock()
	if err := c.send(packet{ID: json.RawMessage(id), Method: method}, params); err != nil {
		return err
	}
	p, ok := <-wait
	switch {
	case !ok:
		return errGone
	case p.Error != nil:
		return p.Error
	case result == nil || len(p.Result) == 0:
		return nil
	}
	if err := json.Unmarshal(p.Result, result); err != nil {
		return fmt.Errorf("decode the response to %s: %w", method, err)
	}
	return nil
}

func (c *conn) reply(id json.RawMessage, result any, failed *rpcError) {
	p := packet{Version: "2.0", ID: id, Error: failed}
	if failed == nil {
		p.Result, _ = json.Marshal(result) // results can always be encoded
	}
	_ = c.x.Send(p) // an agent that has ended needs no response
}

func (c *conn) send(p packet, params any) error {
	var err error
	p.Version = "2.0"
	if p.Params, err = json.Marshal(params); err != nil {
		return fmt.Errorf("%s: %w", p.Method, err)
	}
	return c.x.Send(p)
}
