package modeltest

import (
	"net/http"
	"time"

	"pawl"
)

// Wire names a protocol.
type Wire string

// The protocols the server speaks.
const (
	Anthropic Wire = "anthropic" // POST /v1/messages
	Responses Wire = "responses" // POST /v1/responses
	Chat      Wire = "chat"      // POST /v1/chat/completions
	Gemini    Wire = "gemini"    // POST /v1beta/models/…:streamGenerateContent
)

// Reply is what the server says to one request. The zero value is an empty,
// well-formed reply.
type Reply struct {
	// Blocks are streamed in order, in small pieces. The Args of a call are sent
	// as they are, so they may be broken JSON. An opaque block is what the
	// protocol has for reasoning: a thinking block, a reasoning item, or an
	// object with reasoning_content.
	Blocks []pawl.Block
	// Stop is why the model stopped; empty means that it follows from the blocks.
	Stop pawl.StopReason
	// Usage is told in the protocol's own way. In Chat, zero usage is not told at all.
	Usage pawl.Usage
	// Model is the name that answers; empty means the one asked for.
	Model string
	// Refusal makes the model refuse with these words.
	Refusal string
	// Pace makes the stream drip: a few bytes at a time, with this pause between.
	Pace time.Duration
	// Fault is what goes wrong; the zero value is nothing.
	Fault Fault
}

// Text is a reply of one text.
func Text(text string) Reply {
	return Reply{Blocks: []pawl.Block{{Kind: pawl.BlockText, Text: text}}}
}

// Fault is something that goes wrong while the server answers.
type Fault struct {
	Kind FaultKind
	// At is where it happens; Status always happens in place of the reply.
	At Point
	// Status and Header are the HTTP answer of FaultStatus.
	Status int
	Header http.Header
	// Body is the answer of FaultStatus or the data of FaultError; empty means
	// an overloaded server in the protocol's own words.
	Body string
}

// FaultKind says what goes wrong.
type FaultKind string

// The faults.
const (
	FaultNone    FaultKind = ""
	FaultStatus  FaultKind = "status"  // an HTTP error instead of a stream
	FaultCut     FaultKind = "cut"     // the connection breaks
	FaultEnd     FaultKind = "end"     // the response ends in good order, too early
	FaultHang    FaultKind = "hang"    // nothing more comes, the connection stays open
	FaultGarbage FaultKind = "garbage" // an event that is not JSON
	FaultHTML    FaultKind = "html"    // a web page
	FaultError   FaultKind = "error"   // an error event
)

// Point is a place in a reply.
type Point string

// The places. A reply without the place (a text, a call) meets no fault there.
const (
	AtHeaders   Point = ""          // in place of the headers
	AtStart     Point = "start"     // after the headers, before the first event
	AtText      Point = "text"      // after the first piece of text
	AtArguments Point = "arguments" // after the first piece of a call's arguments
	AtLast      Point = "last"      // when only the end of the reply is missing
)

// stop is the reason told, also when the description leaves it open.
func (r Reply) stop() pawl.StopReason {
	if r.Stop != "" {
		return r.Stop
	}
	for _, b := range r.Blocks {
		if b.Kind == pawl.BlockToolUse {
			return pawl.StopToolUse
		}
	}
	return pawl.StopEnd
}

// pieces cuts a text into pieces of a few characters, as models stream it.
func pieces(text string) []string {
	const length = 7
	runes := []rune(text)
	var out []string
	for len(runes) > 0 {
		n := min(length, len(runes))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}
