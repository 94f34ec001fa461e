// Package anthropic is a [pawl.Model] that speaks Anthropic's Messages API,
// streaming, through the vendor's SDK.
package anthropic

import (
	"context"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"pawl"
	"pawl/internal/model/wire"
)

// Provider names the opaque blocks that belong to this adapter.
const Provider = "anthropic"

// Config says where the API is and who asks. Nothing is read from the
// environment but the proxy settings Go's HTTP client reads.
type Config struct {
	// BaseURL is the server's address without /v1; empty means Anthropic's own.
	BaseURL string
	// APIKey is required.
	APIKey string
	// HTTPClient sends the requests; nil means one with its own connection
	// pool. Redirects are never followed. Its Timeout should be zero, because it
	// would cut long replies off.
	HTTPClient *http.Client
}

// Model is a connection to the Messages API. It is safe for concurrent use.
type Model struct {
	key      string
	setup    error
	messages sdk.MessageService
}

var _ pawl.Model = (*Model)(nil)

// New returns a model. What is wrong with the configuration (no key, a base
// URL that is none) is the error of every Call.
func New(cfg Config) *Model {
	m := &Model{key: strings.TrimSpace(cfg.APIKey), setup: wire.CheckBaseURL(cfg.BaseURL)}
	if m.key == "" {
		m.setup = &pawl.ModelError{Kind: pawl.ModelAuth, Message: "there is no API key: set ANTHROPIC_API_KEY"}
	}
	options := []option.RequestOption{
		option.WithEnvironmentProduction(), // the default address
		option.WithHTTPClient(wire.HTTPClient(cfg.HTTPClient)),
		option.WithMaxRetries(0),
		option.WithAPIKey(m.key),
	}
	if cfg.BaseURL != "" {
		options = append(options, option.WithBaseURL(cfg.BaseURL))
	}
	m.messages = sdk.NewMessageService(options...)
	return m
}

// Call sends one request and returns the whole reply.
func (m *Model) Call(ctx context.Context, req pawl.ModelRequest, sink func(pawl.ModelDelta)) (pawl.ModelReply, error) {
	if m.setup != nil {
		return pawl.ModelReply{}, m.setup
	}
	params, err := newParams(req)
	if err != nil {
		return pawl.ModelReply{}, err
	}
	if sink == nil {
		sink = func(pawl.ModelDelta) {}
	}
	watched, exchange := wire.Open(ctx, req.Idle, m.key)
	defer exchange.Close()
	stream := m.messages.NewStreaming(watched, params, option.WithMiddleware(exchange.Do))
	defer stream.Close()
	return receive(stream, exchange, req, sink)
}
