package client_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"pawl"
	"pawl/internal/client"
	"pawl/internal/engine"
	"pawl/internal/engine/servicetest"
	"pawl/internal/server"
	"pawl/internal/store/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A project's owner, seen over its socket, is what it is from within.
func TestService(t *testing.T) {
	servicetest.Run(t,
		func(testing.TB) pawl.Log { return mem.New() },
		func(tb testing.TB, c engine.Config) (pawl.Service, func()) {
			e := engine.New(c)
			over, end := mustServe(tb, e)
			return over, func() {
				e.Close()
				end()
			}
		})
}

// mustServe serves s on a socket and gives a client of it. end ends both.
func mustServe(tb testing.TB, s pawl.Service) (c *client.Client, end func()) {
	tb.Helper()
	socket := mustSocket(tb)
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- server.Serve(ctx, socket, s, nil, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-done:
		cancel()
		tb.Fatal(err)
	}
	c = client.New(socket)
	return c, func() {
		cancel()
		if err := <-done; err != nil {
			tb.Error(err)
		}
		c.Close()
	}
}
