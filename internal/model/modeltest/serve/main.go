// Serve is a stand-in for a model provider, to try a program against by hand:
//
//	go run ./internal/model/modeltest/serve -wire chat -script answers.yaml
//
// answers over one of the three protocols what the script says. Requests carry
// no place in a run, so of `when` only turn and last can match.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"pawl"
	"pawl/internal/model/modeltest"
	"pawl/internal/model/script"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	wire := flags.String("wire", string(modeltest.Chat), "anthropic, responses or chat")
	address := flags.String("addr", "127.0.0.1:8090", "address to listen on")
	path := flags.String("script", "", "file with the answers (required)")
	key := flags.String("key", "", "API key to insist on")
	pace := flags.Duration("pace", 0, "pause between a few bytes, such as 5ms")
	if err := flags.Parse(args); err != nil {
		return err
	}
	w := modeltest.Wire(*wire)
	if w != modeltest.Anthropic && w != modeltest.Responses && w != modeltest.Chat {
		return fmt.Errorf("-wire is anthropic, responses or chat, not %q", *wire)
	}
	answers, err := script.Load(*path)
	if err != nil {
		return err
	}
	answer := modeltest.AnswerWith(answers)
	handler := &modeltest.Handler{Wire: w, Key: *key, Answer: func(req pawl.ModelRequest) modeltest.Reply {
		reply := answer(req)
		reply.Pace = *pace
		return reply
	}}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", *address)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stdout, "listening on http://%s for %s\n", listener.Addr(), w)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
