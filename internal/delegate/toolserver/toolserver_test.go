package toolserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"pawl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testTools are not in alphabetical order, and neither are the keys of their schemas.
var testTools = []pawl.ToolSpec{
	{Name: "search", Description: "Searches memory.", Schema: json.RawMessage(`{"type":"object","properties":{"zeta":{"type":"string","description":"a < b & c"},"alpha":{"type":"integer","minimum":1}},"required":["zeta"],"additionalProperties":false}`)},
	{Name: "done", Description: "Ends the task.", Schema: json.RawMessage(`{"type":"object"}`)},
}

// echo answers with the tool and its arguments. The tool done fails.
func echo(_ context.Context, tool string, args json.RawMessage) (string, bool) {
	return tool + " " + string(args), tool == "done"
}

// serve starts a server and returns the address of its socket. Stop ends its context and returns what
// Serve returns.
func serve(t *testing.T, s *Server) (l net.Listener, stop func() error) {
	t.Helper()
	dir, err := os.MkdirTemp("", "toolserver") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if l, err = net.Listen("unix", filepath.Join(dir, "s")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Serve returns %v", err)
		}
	})
	return l, stop
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	conn, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// clientOn begins a session with the SDK's client.
func clientOn(t *testing.T, conn io.ReadWriteCloser) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: conn, Writer: conn}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// call calls a tool and returns the text of its result.
func call(t *testing.T, session *mcp.ClientSession, tool string, args any) (text string, isError bool) {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("calling %s: %v", tool, err)
	}
	if len(res.Content) != 1 || res.StructuredContent != nil {
		t.Fatalf("the result is %+v, want one text", res)
	}
	return res.Content[0].(*mcp.TextContent).Text, res.IsError
}

// raw is a client that sends lines.
type raw struct {
	net.Conn
	lines *bufio.Reader
}

func rawOn(t *testing.T, l net.Listener) *raw {
	conn := dial(t, l)
	return &raw{conn, bufio.NewReader(conn)}
}

const initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// ask sends a line and returns the next line that comes.
func (r *raw) ask(t *testing.T, line string) string {
	t.Helper()
	if _, err := io.WriteString(r, line+"\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := r.lines.ReadString('\n')
	if err != nil {
		t.Fatalf("%.100s is answered %q, %v", line, answer, err)
	}
	return answer
}

func TestTools(t *testing.T) {
	l, _ := serve(t, &Server{Tools: testTools, Call: echo, Version: "v1.2.3"})
	session := clientOn(t, dial(t, l))
	list, err := session.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != len(testTools) || list.NextCursor != "" {
		t.Fatalf("the tools are %+v, %v", list, err)
	}
	info := session.InitializeResult()
	capabilities, err := json.Marshal(info.Capabilities)
	if err != nil || string(capabilities) != `{"tools":{}}` || info.ServerInfo.Name != "pawl" || info.ServerInfo.Version != "v1.2.3" {
		t.Errorf("the server is %+v with %s, %v", info.ServerInfo, capabilities, err)
	}
	client := rawOn(t, l)
	client.ask(t, initialize)
	var answer struct {
		Result struct {
			Tools []struct {
				Name, Description string
				InputSchema       json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(client.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)), &answer); err != nil {
		t.Fatal(err)
	}
	want := map[string]pawl.ToolSpec{}
	for _, tool := range testTools {
		want[tool.Name] = tool
	}
	for _, got := range answer.Result.Tools {
		w := want[got.Name]
		schema := strings.NewReplacer(`\u003c`, "<", `\u0026`, "&").Replace(string(got.InputSchema))
		if got.Description != w.Description || schema != string(w.Schema) {
			t.Errorf("the tool is %+v with the schema\n%s, want\n%s", got, schema, w.Schema)
		}
		delete(want, got.Name)
	}
	if len(want) > 0 {
		t.Errorf("%v are missing", want)
	}
}

func TestCall(t *testing.T) {
	l, _ := serve(t, &Server{Tools: testTools, Call: echo})
	session := clientOn(t, dial(t, l))
	for _, test := range []struct {
		tool    string
		args    any
		text    string
		isError bool
	}{
		{"search", json.RawMessage(`{"zeta":"a"}`), `search {"zeta":"a"}`, false},
		{"search", json.RawMessage(`{"zeta":5,"other":[1.50]}`), `search {"zeta":5,"other":[1.50]}`, false}, // not what the schema says
		{"search", json.RawMessage(`"text"`), `search "text"`, false},
		{"search", nil, `search {}`, false},
		{"search", json.RawMessage(`null`), `search {}`, false},
		{"done", json.RawMessage(`{"a":1}`), `done {"a":1}`, true},
		{"serach", nil, `there is no tool "serach": this session has search, done`, true},
	} {
		if text, isError := call(t, session, test.tool, test.args); text != test.text || isError != test.isError {
			t.Errorf("%s with %v is answered %q, %t, want %q, %t", test.tool, test.args, text, isError, test.text, test.isError)
		}
	}
	l, _ = serve(t, &Server{Call: echo})
	if text, isError := call(t, clientOn(t, dial(t, l)), "search", nil); text != `there is no tool "search": this session has no tools` || !isError {
		t.Errorf("without tools the answer is %q, %t", text, isError)
	}
}

func TestCallThatPanics(t *testing.T) {
	l, _ := serve(t, &Server{Tools: testTools, Call: func(_ context.Context, tool string, _ json.RawMessage) (string, bool) {
		if tool == "done" {
			panic("no such index")
		}
		return "fine", false
	}})
	session := clientOn(t, dial(t, l))
	if text, isError := call(t, session, "done", nil); text != "the tool done failed because of a bug in Pawl: no such index" || !isError {
		t.Errorf("the answer is %q, %t", text, isError)
	}
	if text, _ := call(t, session, "search", nil); text != "fine" {
		t.Errorf("then the answer is %q", text)
	}
}

// What is not UTF-8 is replaced in both directions.
func TestText(t *testing.T) {
	received := make(chan json.RawMessage, 1)
	l, _ := serve(t, &Server{Tools: testTools, Call: func(_ context.Context, _ string, args json.RawMessage) (string, bool) {
		received <- args
		return "a\xffb", false
	}})
	client := rawOn(t, l)
	client.ask(t, initialize)
	answer := client.ask(t, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"zeta":"x`+"\xff"+`y"}}}`)
	if args := <-received; string(args) != "{\"zeta\":\"x\uFFFDy\"}" {
		t.Errorf("the arguments are %q", args)
	}
	if !utf8.ValidString(answer) || !strings.Contains(answer, "a\uFFFDb") && !strings.Contains(answer, `a\ufffdb`) {
		t.Errorf("the answer is %q", answer)
	}
}

// Calls of several connections, and of one, run at the same time.
func TestConcurrentCalls(t *testing.T) {
	const calls = 4
	var all sync.WaitGroup
	all.Add(calls)
	l, _ := serve(t, &Server{Tools: testTools, Call: func(context.Context, string, json.RawMessage) (string, bool) {
		all.Done()
		all.Wait() // for the others
		return "met", false
	}})
	sessions := []*mcp.ClientSession{clientOn(t, dial(t, l)), clientOn(t, dial(t, l))}
	answers := make(chan string, calls)
	for i := range calls {
		go func() {
			res, err := sessions[i%2].CallTool(context.Background(), &mcp.CallToolParams{Name: "search"})
			if err != nil {
				answers <- err.Error()
				return
			}
			answers <- res.Content[0].(*mcp.TextContent).Text
		}()
	}
	for range calls {
		if got := <-answers; got != "met" {
			t.Errorf("a call is answered %q", got)
		}
	}
}

// A message that is too long ends its connection and no other one.
func TestLongMessages(t *testing.T) {
	l, _ := serve(t, &Server{Tools: testTools, Call: func(_ context.Context, _ string, args json.RawMessage) (string, bool) {
		return fmt.Sprint(len(args)), false
	}})
	other := clientOn(t, dial(t, l))
	message := func(size int) string {
		begin, end := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"zeta":"`, `"}}}`
		return begin + strings.Repeat("x", size-len(begin)-len(end)) + end
	}
	client := rawOn(t, l)
	client.ask(t, initialize)
	if answer := client.ask(t, message(maxMessage)); !strings.Contains(answer, `"text":"4194`) {
		t.Errorf("the longest message is answered %s", answer)
	}
	_, writing := io.WriteString(client, message(maxMessage+1)+"\n")
	if answer, err := client.lines.ReadString('\n'); err == nil || answer != "" {
		t.Errorf("a longer message is answered %q, after %v", answer, writing)
	}
	if text, _ := call(t, other, "search", nil); text != "2" {
		t.Errorf("the other connection is answered %q", text)
	}
}

// A line that is not valid is answered with an error, and the connection goes on.
func TestInvalidLines(t *testing.T) {
	started, release := make(chan struct{}), make(chan struct{})
	l, _ := serve(t, &Server{Tools: testTools, Call: func(_ context.Context, tool string, args json.RawMessage) (string, bool) {
		if tool == "done" {
			close(started)
			<-release
		}
		return echo(t.Context(), tool, args)
	}})
	other := clientOn(t, dial(t, l))
	client := rawOn(t, l)
	client.ask(t, "\r\n\n"+initialize)
	for _, test := range []struct{ line, want string }{
		{`{"jsonrpc":`, `"code":-32700`},
		{`nonsense`, `"code":-32700`},
		{`{}`, `"code":-32600`},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, `"code":-32600`},
		{`[]`, `"code":-32600`},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `"code":-32600`},
		{`null`, `"code":-32600`},
		{`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, `"code":-32601`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":5}`, `"error"`},
		{`{"jsonrpc":"2.0","id":2,"method":"tools/call"}`, `"error"`},
		{`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"file:///etc/passwd"}}`, `"error"`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"search"}}`, `search {}`},
	} {
		if answer := client.ask(t, test.line); !strings.Contains(answer, test.want) || !json.Valid([]byte(answer)) {
			t.Errorf("%s is answered %s, want %s", test.line, answer, test.want)
		}
	}
	_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"done"}}`+"\n")
	<-started
	if answer := client.ask(t, `{"jsonrpc":"2.0","id":5,"method":"ping"}`); !strings.Contains(answer, "the ID of the request is in use") {
		t.Errorf("a second request with the same ID is answered %s", answer)
	}
	close(release)
	if answer, err := client.lines.ReadString('\n'); err != nil || !strings.Contains(answer, `"id":5`) || !strings.Contains(answer, "done {}") {
		t.Errorf("the first one is answered %s, %v", answer, err)
	}
	if text, _ := call(t, other, "search", nil); text != "search {}" {
		t.Errorf("the other connection is answered %q", text)
	}
}

// Of one connection only so many requests run at once, and the others follow.
func TestManyCalls(t *testing.T) {
	var mu sync.Mutex
	var running, most int
	full, release := make(chan struct{}), make(chan struct{})
	isFull := sync.OnceFunc(func() { close(full) })
	l, _ := serve(t, &Server{Tools: testTools, Call: func(context.Context, string, json.RawMessage) (string, bool) {
		mu.Lock()
		running++
		if most = max(most, running); running == maxCalls {
			isFull()
		}
		mu.Unlock()
		<-release
		mu.Lock()
		running--
		mu.Unlock()
		return "", false
	}})
	client := rawOn(t, l)
	client.ask(t, initialize)
	const calls = 3 * maxCalls
	go func() {
		for i := range calls {
			fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"search"}}`+"\n", i)
		}
	}()
	<-full
	for range maxCalls {
		release <- struct{}{}
	}
	close(release)
	for range calls {
		if _, err := client.lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if most != maxCalls {
		t.Errorf("%d calls ran at once, want %d", most, maxCalls)
	}
}

// Further connections are closed until another one has ended.
func TestManyConnections(t *testing.T) {
	l, _ := serve(t, &Server{Tools: testTools, Call: echo})
	var clients []*raw
	for range maxConnections {
		c := rawOn(t, l)
		c.ask(t, initialize)
		clients = append(clients, c)
	}
	if line, err := rawOn(t, l).lines.ReadString('\n'); err == nil || line != "" {
		t.Errorf("one connection more receives %q, %v", line, err)
	}
	clients[0].Close()
	for { // until the server has seen that
		c := rawOn(t, l)
		_, _ = io.WriteString(c, initialize+"\n")
		if line, err := c.lines.ReadString('\n'); err == nil && strings.Contains(line, "serverInfo") {
			break
		}
	}
}

// A call ends when the client cancels it, when the client is gone, and when the server ends.
func TestCancel(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	l, stop := serve(t, &Server{Tools: testTools, Call: func(ctx context.Context, _ string, _ json.RawMessage) (string, bool) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- struct{}{}
		return "canceled", true
	}})
	conn := dial(t, l)
	session := clientOn(t, conn)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	begin := func(ctx context.Context) {
		go func() {
			_, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "search"})
			failed <- err
		}()
		<-started
	}
	begin(ctx)
	cancel()
	<-ended
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("the client has %v", err)
	}
	begin(t.Context())
	conn.Close()
	<-ended
	<-failed

	session = clientOn(t, dial(t, l))
	begin(t.Context())
	stopped := make(chan error)
	go func() { stopped <- stop() }()
	<-ended
	if err := <-failed; err == nil {
		t.Error("the client does not see that the server has ended")
	}
	if err := <-stopped; err != nil {
		t.Errorf("Serve returns %v", err)
	}
	if _, err := net.Dial("unix", l.Addr().String()); err == nil {
		t.Error("the socket still accepts connections")
	}
}

// Closing the listener ends Serve and all connections.
func TestCloseListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- (&Server{Tools: testTools, Call: echo}).Serve(t.Context(), l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	session := clientOn(t, conn)
	l.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve returns %v", err)
	}
	_ = session.Wait()
}

func TestInvalidTools(t *testing.T) {
	object := json.RawMessage(`{"type":"object"}`)
	for name, tools := range map[string][]pawl.ToolSpec{
		"SameName":  {{Name: "a", Schema: object}, {Name: "a", Schema: object}},
		"NoSchema":  {{Name: "a"}},
		"NotObject": {{Name: "a", Schema: json.RawMessage(`{"type":"string"}`)}},
		"NotJSON":   {{Name: "a", Schema: json.RawMessage(`{"type"`)}},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			if err := (&Server{Tools: tools, Call: echo}).Serve(t.Context(), l); pawl.CodeOf(err) != pawl.CodeInvalid {
				t.Errorf("Serve returns %v", err)
			}
		})
	}
}

// stdio is the standard input and output of a relay, seen from the agent.
type stdio struct {
	io.Reader
	io.WriteCloser
}

// An agent talks to a relay over pipes, and the relay passes them to the socket.
func TestRelay(t *testing.T) {
	l, _ := serve(t, &Server{Tools: testTools, Call: echo})
	socket := dial(t, l)
	stdin, toStdin := io.Pipe()
	fromStdout, stdout := io.Pipe()
	var relay sync.WaitGroup
	relay.Go(func() {
		_, _ = io.Copy(socket, stdin)
		_ = socket.(*net.UnixConn).CloseWrite()
	})
	relay.Go(func() {
		_, _ = io.Copy(stdout, socket)
		stdout.Close()
	})
	session := clientOn(t, stdio{fromStdout, toStdin})
	if list, err := session.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 2 {
		t.Errorf("the tools are %+v, %v", list, err)
	}
	long := strings.Repeat("x", 1<<20)
	if text, _ := call(t, session, "search", map[string]string{"zeta": long}); text != `search {"zeta":"`+long+`"}` {
		t.Errorf("the answer has %d bytes", len(text))
	}
	toStdin.Close() // the agent ends its server
	relay.Wait()
}
