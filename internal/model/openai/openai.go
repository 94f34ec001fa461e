// Package openai holds the two [pawl.Model]s that speak OpenAI's protocols,
// streaming, through the vendor's SDK: [NewResponses] for OpenAI itself, and
// [NewChat] for the many servers that are compatible with Chat Completions
// (Ollama, vLLM, llama.cpp, OpenRouter).
package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"pawl"
	"pawl/internal/model/wire"
)

// Config says where a server is and who asks. Nothing is read from the
// environment but the proxy settings Go's HTTP client reads.
type Config struct {
	// BaseURL is the server's address with its version, such as
	// http://localhost:11434/v1; empty means OpenAI's own.
	BaseURL string
	// APIKey is required by OpenAI; a server named by BaseURL may need none.
	APIKey string
	// HTTPClient sends the requests; nil means one with its own connection
	// pool. Redirects are never followed. Its Timeout should be zero, because it
	// would cut long replies off.
	HTTPClient *http.Client
	// MaxCompletionTokens makes NewChat send the output limit as
	// max_completion_tokens. False sends max_tokens, which every compatible
	// server knows; OpenAI itself (an empty BaseURL) always gets the new name.
	MaxCompletionTokens bool
}

// endpoint is what both adapters know of their server.
type endpoint struct {
	key     string
	setup   error // what is wrong with the configuration
	options []option.RequestOption
}

func newEndpoint(cfg Config) endpoint {
	e := endpoint{key: strings.TrimSpace(cfg.APIKey), setup: wire.CheckBaseURL(cfg.BaseURL)}
	e.options = []option.RequestOption{
		option.WithEnvironmentProduction(), // the default address
		option.WithHTTPClient(wire.HTTPClient(cfg.HTTPClient)),
		option.WithMaxRetries(0),
	}
	if cfg.BaseURL != "" {
		e.options = append(e.options, option.WithBaseURL(cfg.BaseURL))
	}
	switch {
	case e.key != "":
		e.options = append(e.options, option.WithAPIKey(e.key))
	case cfg.BaseURL == "":
		e.setup = &pawl.ModelError{Kind: pawl.ModelAuth, Message: "there is no API key: set OPENAI_API_KEY"}
	}
	return e
}

// request are the options of one streaming request whose unread response goes to raw.
func request(exchange *wire.Exchange, raw **http.Response) []option.RequestOption {
	return []option.RequestOption{
		option.WithJSONSet("stream", true),
		option.WithMiddleware(exchange.Do),
		option.WithResponseBodyInto(raw),
	}
}

// receive hands the data of each event to take until take says the reply is
// complete, an event reports an error, or the stream ends. It closes the
// response. The SDK's own stream is not used because it takes "error": null,
// which some servers put into every chunk, for an error.
func receive(res *http.Response, exchange *wire.Exchange, take func(data []byte) (done bool, err error)) error {
	decoder := ssestream.NewDecoder(res)
	if decoder == nil {
		return exchange.Cut()
	}
	defer func() { _ = decoder.Close() }()
	for decoder.Next() {
		data := bytes.TrimSpace(decoder.Event().Data)
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			return nil
		}
		if len(data) == 0 {
			continue // a sign of life
		}
		var probe struct {
			Error json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(data, &probe); err != nil {
			return exchange.Err(err)
		}
		if len(probe.Error) > 0 && string(probe.Error) != "null" {
			return exchange.Err(exchange.Failure(0, nil, data))
		}
		done, err := take(data)
		if err != nil {
			return exchange.Err(err)
		}
		if done {
			return nil
		}
	}
	if err := decoder.Err(); err != nil {
		return exchange.Err(err)
	}
	return nil
}

// schema is a tool's schema in the SDK's form.
func schema(t pawl.ToolSpec) (map[string]any, error) {
	var parameters map[string]any
	if err := json.Unmarshal(t.Schema, &parameters); err != nil {
		return nil, badRequest("the schema of the tool %q: %v", t.Name, err)
	}
	return parameters, nil
}

// result is a tool result's text; the protocols have no other mark for a failure.
func result(b pawl.Block) string {
	if b.IsError {
		return "The call failed: " + b.Text
	}
	return b.Text
}

// usage normalises OpenAI's counts, whose input includes what was read from
// the cache and written to it.
func usage(input, cached, written, output int64) pawl.Usage {
	return pawl.Usage{Input: max(0, input-cached-written), CacheRead: cached, CacheWrite: written, Output: output}
}

// cacheWrites returns how many tokens were written to the provider's cache. The SDK does not name
// the field, which is younger than its release.
func cacheWrites(details map[string]respjson.Field) int64 {
	n, err := strconv.ParseInt(details["cache_write_tokens"].Raw(), 10, 64)
	if err != nil {
		return 0 // most servers do not say
	}
	return n
}

func badRequest(format string, args ...any) error {
	return &pawl.ModelError{Kind: pawl.ModelBadRequest, Message: wire.Clean(fmt.Sprintf(format, args...), "")}
}
