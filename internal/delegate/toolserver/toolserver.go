// Package toolserver offers the tools of a session to a coding agent, as a server of the Model Context
// Protocol (MCP). The agent runs in a room and reaches the server through a socket, with a relay that
// connects its standard input and output to it; so each connection is a session of MCP's stdio
// transport.
//
// The other side is whatever runs in the room, so nothing it sends is trusted: the size of messages
// and the numbers of connections and of calls at once are bounded.
package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"pawl"
)

// The bounds of a server.
const (
	maxConnections = 16
	maxCalls       = 64      // requests of one connection at once; it is not read while it has more
	maxMessage     = 4 << 20 // bytes
)

// Server offers tools to a coding agent over MCP.
type Server struct {
	// Tools are the tools. Each needs a name of its own and a schema whose type is "object".
	Tools []pawl.ToolSpec
	// Call runs a tool and returns what the agent is told; isError reports whether the call failed.
	// The arguments are as the agent sent them: they have not been validated, and are "{}" if there
	// are none. Call runs concurrently. Its context ends when the agent cancels the call or is gone.
	Call func(ctx context.Context, tool string, args json.RawMessage) (text string, isError bool)
	// Version is Pawl's version.
	Version string
}

// Serve answers the clients of l until l is closed or ctx ends. Several connections may be open at
// once, because an agent may start its servers twice. Serve closes l and all connections, and returns
// when no call is running. It returns nil unless the tools are not valid or l fails.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	defer l.Close()
	server, err := s.newServer()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var sessions sync.WaitGroup
	defer sessions.Wait()
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	places := make(chan struct{}, maxConnections)
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return err
		}
		select {
		case places <- struct{}{}:
			sessions.Go(func() {
				defer func() { <-places }()
				serveConn(ctx, server, conn)
			})
		default:
			_ = conn.Close()
		}
	}
}

// serveConn answers one client until it is gone or ctx ends, and its calls have returned.
func serveConn(ctx context.Context, server *mcp.Server, conn net.Conn) {
	c := newConnection(conn)
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	session, err := server.Connect(ctx, c, nil)
	if err != nil {
		return
	}
	_ = session.Wait() // how a client went away does not matter
}

// newServer returns the server of the SDK, which serves all connections.
func (s *Server) newServer() (server *mcp.Server, err error) {
	server = mcp.NewServer(&mcp.Implementation{Name: "pawl", Version: s.Version}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		PageSize:     max(len(s.Tools), 1), // some clients read only the first page
	})
	known := make(map[string]bool, len(s.Tools))
	for _, t := range s.Tools {
		if known[t.Name] {
			return nil, pawl.Errorf(pawl.CodeInvalid, "two tools have the name %q", t.Name)
		}
		known[t.Name] = true
		if err := addTool(server, t); err != nil {
			return nil, err
		}
	}
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			call, ok := req.(*mcp.CallToolRequest)
			if !ok {
				return next(ctx, method, req)
			}
			// The SDK would answer a call of an unknown tool with an error of the protocol, which
			// some agents do not show to their model.
			if !known[call.Params.Name] {
				return result(s.unknown(call.Params.Name), true), nil
			}
			return s.call(ctx, call), nil
		}
	})
	return server, nil
}

// addTool adds a tool to the list. Calls do not get as far as its handler.
func addTool(server *mcp.Server, t pawl.ToolSpec) (err error) {
	defer func() { // the SDK panics if a schema is not valid
		if r := recover(); r != nil {
			err = pawl.Errorf(pawl.CodeInvalid, "the tool %q cannot be offered: %v", t.Name, r)
		}
	}()
	server.AddTool(&mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("no handler")
		})
	return nil
}

// call runs a tool. If Call panics, only this call fails.
func (s *Server) call(ctx context.Context, req *mcp.CallToolRequest) (res *mcp.CallToolResult) {
	name, args := req.Params.Name, req.Params.Arguments
	if len(args) == 0 || string(args) == "null" {
		args = json.RawMessage("{}")
	}
	defer func() {
		if r := recover(); r != nil {
			res = result(fmt.Sprintf("the tool %s failed because of a bug in Pawl: %v", name, r), true)
		}
	}()
	return result(s.Call(ctx, name, args))
}

// unknown returns what the agent is told if it calls a tool that does not exist.
func (s *Server) unknown(name string) string {
	if len(s.Tools) == 0 {
		return fmt.Sprintf("there is no tool %q: this session has no tools", name)
	}
	names := make([]string, len(s.Tools))
	for i, t := range s.Tools {
		names[i] = t.Name
	}
	return fmt.Sprintf("there is no tool %q: this session has %s", name, strings.Join(names, ", "))
}

func result(text string, isError bool) *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: strings.ToValidUTF8(text, "\uFFFD")}},
		IsError: isError,
	}
}
