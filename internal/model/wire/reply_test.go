package wire_test

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pawl"
	"pawl/internal/model/wire"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	const month = 30 * 24 * time.Hour
	for value, want := range map[string]time.Duration{
		"":                              0,
		"12":                            12 * time.Second,
		" 0.5 ":                         500 * time.Millisecond,
		"-3":                            0,
		"1e300":                         month,
		"NaN":                           0,
		"soon":                          0,
		"Sat, 21 Nov 2026 08:02:00 GMT": 2 * time.Minute,
		"Sat, 21 Nov 2026 07:00:00 GMT": 0,
		"Sat, 21 Nov 2099 08:00:00 GMT": month,
		strconv.Itoa(math.MaxInt64):     month,
	} {
		if got := wire.RetryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("Retry-After %q means %v, want %v", value, got, want)
		}
	}
	both := http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"250"}}
	if got := wire.RetryAfter(both, now); got != 250*time.Millisecond {
		t.Errorf("with both headers the wait is %v, want the finer one", got)
	}
}

// A reset that a provider told in a header of its own is waited for when a limit or a quota is
// used up. Limits of which something is left say nothing, nor do those of another failure. F-44
func TestResets(t *testing.T) {
	in := func(d time.Duration, layout string) string { return time.Now().Add(d).UTC().Format(layout) }
	for name, tt := range map[string]struct {
		status int
		header map[string]string
		want   time.Duration
	}{
		"Time":         {429, map[string]string{"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": in(time.Hour, time.RFC3339)}, time.Hour},
		"OfTheUsedUp":  {429, map[string]string{"anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": in(time.Hour, time.RFC3339), "anthropic-ratelimit-tokens-remaining": "5", "anthropic-ratelimit-tokens-reset": in(2*time.Hour, time.RFC3339)}, time.Hour},
		"Subscription": {429, map[string]string{"anthropic-ratelimit-unified-reset": strconv.FormatInt(time.Now().Add(5*time.Hour).Unix(), 10)}, 5 * time.Hour},
		"Duration":     {402, map[string]string{"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "2m59.56s"}, 179560 * time.Millisecond},
		"Latest":       {402, map[string]string{"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1s", "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "6m0s"}, 6 * time.Minute},
		"Milliseconds": {429, map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": strconv.FormatInt(time.Now().Add(time.Hour).UnixMilli(), 10)}, time.Hour},
		"Seconds":      {429, map[string]string{"ratelimit-reset": "30"}, 30 * time.Second},
		"RetryAfter":   {429, map[string]string{"retry-after": "7", "ratelimit-reset": "30"}, 7 * time.Second},
		"SomeIsLeft":   {402, map[string]string{"x-ratelimit-remaining-requests": "99", "x-ratelimit-reset-requests": "1s"}, 0},
		"Past":         {429, map[string]string{"x-ratelimit-reset": "1700000000"}, 0},
		"Nonsense":     {429, map[string]string{"x-ratelimit-reset": "soon"}, 0},
		"NaN":          {429, map[string]string{"x-ratelimit-reset": "NaN"}, 0},
		"Endless":      {429, map[string]string{"x-ratelimit-reset": "100000000"}, 30 * 24 * time.Hour},
		"Overloaded":   {503, map[string]string{"x-ratelimit-remaining": "0", "x-ratelimit-reset": "30"}, 0},
		"BadRequest":   {400, map[string]string{"anthropic-ratelimit-tokens-remaining": "0", "anthropic-ratelimit-tokens-reset": in(time.Hour, time.RFC3339)}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			header := http.Header{}
			for k, v := range tt.header {
				header.Set(k, v)
			}
			_, x := wire.Open(t.Context(), 0, "")
			defer x.Close()
			if got := x.Failure(tt.status, header, nil).Wait; got > tt.want || got < tt.want-time.Minute/10 {
				t.Errorf("wait is %s, want %s", got, tt.want)
			}
		})
	}
}

// A gateway tells the limit of the provider behind it in the body. F-44
func TestResetsBehindAGateway(t *testing.T) {
	day := strconv.FormatInt(time.Now().Add(9*time.Hour).UnixMilli(), 10)
	for name, tt := range map[string]struct {
		status int
		body   string
		header string // retry-after
		want   time.Duration
	}{
		"OpenRouter": {429, `{"error":{"message":"Rate limit exceeded","code":429,"metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"` + day + `"}}}}`, "", 9 * time.Hour},
		"Numbers":    {429, `{"error":{"message":"m","metadata":{"headers":{"x-ratelimit-remaining":0,"x-ratelimit-reset":` + day + `}}}}`, "", 9 * time.Hour},
		"OwnHeader":  {429, `{"error":{"message":"m","metadata":{"headers":{"X-RateLimit-Reset":"` + day + `"}}}}`, "7", 7 * time.Second},
		"SomeIsLeft": {429, `{"error":{"message":"m","metadata":{"headers":{"X-RateLimit-Remaining":"3","X-RateLimit-Reset":"` + day + `"}}}}`, "", 0},
		"Text":       {429, `{"error":{"message":"m","metadata":"none"}}`, "", 0},
		"BadRequest": {400, `{"error":{"message":"m","metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"` + day + `"}}}}`, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, x := wire.Open(t.Context(), 0, "")
			defer x.Close()
			got := x.Failure(tt.status, http.Header{"Retry-After": {tt.header}}, []byte(tt.body))
			if got.Wait > tt.want || got.Wait < tt.want-time.Minute/10 || got.Message == "" || strings.Contains(got.Message, "metadata") {
				t.Errorf("%+v, want a wait of %s", got, tt.want)
			}
		})
	}
}

func TestClean(t *testing.T) {
	const key = "secret-key-42"
	for text, want := range map[string]string{
		"plain":                              "plain",
		" two\n\tlines\r\n":                  "two lines",
		"\x1b[31mred\x1b]0;title\x07\u202e!": "[31mred]0;title!",
		"bad \xff byte":                      "bad \uFFFD byte",
		"the key secret-key-42!":             "the key [key]!",
		"hid\u200bden secret-\u200bkey-42":   "hidden [key]",
		"provided: sk-proj-abc***xyz9.":      "provided: [key]",
		"a task-force is no key":             "a task-force is no key",
	} {
		if got := wire.Clean(text, key); got != want {
			t.Errorf("Clean(%q) = %q, want %q", text, got, want)
		}
	}
	if got := wire.Clean("none of it", "none"); got != "none of it" {
		t.Errorf("a word in place of a key was taken for a secret: %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "before") + key + strings.Repeat(rapid.StringN(1, 9, -1).Draw(t, "after"), 80)
		got := wire.Clean(text, key)
		if strings.Contains(got, key) || len(got) > 300 || !utf8.ValidString(got) {
			t.Errorf("Clean left %q", got)
		}
	})
}

func TestArgs(t *testing.T) {
	for _, tt := range []struct {
		text string
		cut  bool
		want string
	}{
		{text: "", want: "{}"},
		{text: " \n", want: "{}"},
		{text: "null", want: "{}"},
		{text: ` {"a": 1} `, want: `{"a": 1}`},
		{text: `[1]`, want: `[1]`},
		{text: `{"a":`, want: `"{\"a\":"`},
		{text: `{"a":`, cut: true, want: "{}"},
		{text: `{"a":1}`, cut: true, want: `{"a":1}`},
	} {
		if got := string(wire.Args(tt.text, tt.cut)); got != tt.want {
			t.Errorf("Args(%q, %v) = %s, want %s", tt.text, tt.cut, got, tt.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		args := wire.Args(rapid.String().Draw(t, "text"), rapid.Bool().Draw(t, "cut"))
		if !json.Valid(args) {
			t.Errorf("Args returned %q, which is not JSON", args)
		}
		var object map[string]any
		if err := json.Unmarshal(wire.ObjectArgs(args), &object); err != nil {
			t.Errorf("ObjectArgs: %v", err)
		}
	})
}

func TestBlocks(t *testing.T) {
	opaque := pawl.Block{Kind: pawl.BlockOpaque, Provider: "p", Opaque: json.RawMessage(`{}`)}
	foreign := pawl.Block{Kind: pawl.BlockOpaque, Provider: "q", Opaque: json.RawMessage(`{}`)}
	text := pawl.Block{Kind: pawl.BlockText, Text: "hm"}
	result := pawl.Block{Kind: pawl.BlockToolResult, CallID: "c"}
	for _, tt := range []struct {
		name     string
		in, want []pawl.Block
	}{
		{"results first", []pawl.Block{text, result}, []pawl.Block{result, text}},
		{"no empty text", []pawl.Block{{Kind: pawl.BlockText, Text: "\n "}, text}, []pawl.Block{text}},
		{"no foreign block", []pawl.Block{foreign, opaque, text}, []pawl.Block{opaque, text}},
		{"reasoning that led to nothing", []pawl.Block{text, opaque, foreign, opaque}, []pawl.Block{text}},
	} {
		got, err := wire.Blocks(pawl.Message{Role: pawl.RoleAssistant, Blocks: tt.in}, "p")
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}

func TestEstimateCountsEverything(t *testing.T) {
	req := pawl.ModelRequest{
		System:   strings.Repeat("s", 40),
		Tools:    []pawl.ToolSpec{{Name: "read", Description: "Reads", Schema: json.RawMessage(`{"a":1}`)}},
		Messages: []pawl.Message{{Blocks: []pawl.Block{{Text: strings.Repeat("m", 100)}, {Args: json.RawMessage(`{"b":22}`)}}}},
	}
	got := wire.Estimate(req, pawl.Message{Blocks: []pawl.Block{{Text: "12345"}}})
	if want := (pawl.Usage{Input: (40 + 16 + 108) / 4, Output: 2}); got != want {
		t.Errorf("Estimate = %+v, want %+v", got, want)
	}
}
