package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pawl"
	"pawl/internal/pattern"
)

// problem is what an error body says, wherever it says it.
type problem struct {
	kind    string // the provider's type, such as "overloaded_error"
	code    string // the provider's code, such as "context_length_exceeded"
	message string
	headers http.Header // those of the provider behind a gateway such as OpenRouter
	delay   string      // until the next try, such as "42s" (Google)
}

// parseProblem reads the error out of a body. Known shapes: {"error": {…}},
// {"error": "text"}, {"response": {"error": {…}}}, and the fields at the top;
// anything else that is JSON leaves the problem empty.
func parseProblem(body []byte) problem {
	var outer struct {
		Error    json.RawMessage `json:"error"`
		Response struct {
			Error json.RawMessage `json:"error"`
		} `json:"response"`
	}
	_ = json.Unmarshal(body, &outer) // what cannot be read stays empty
	for _, part := range []json.RawMessage{outer.Error, outer.Response.Error, body} {
		if p, ok := readProblem(part); ok {
			return p
		}
	}
	return problem{}
}

func readProblem(part json.RawMessage) (problem, bool) {
	var text string
	if json.Unmarshal(part, &text) == nil {
		return problem{message: text}, text != ""
	}
	var fields struct {
		Type, Code, Status, Message, Detail any
		Metadata                            json.RawMessage
		Details                             json.RawMessage
	}
	if json.Unmarshal(part, &fields) != nil {
		return problem{}, false
	}
	p := problem{kind: word(fields.Type), code: word(fields.Code), message: word(fields.Message)}
	if p.message == "" {
		p.message = word(fields.Detail)
	}
	if p.kind == "" {
		p.kind = word(fields.Status)
	}
	var behind struct{ Headers map[string]any }
	_ = json.Unmarshal(fields.Metadata, &behind) // what cannot be read stays empty
	for name, value := range behind.Headers {
		if p.headers == nil {
			p.headers = http.Header{}
		}
		p.headers.Set(name, word(value))
	}
	var details []struct {
		Delay string `json:"retryDelay"`
	}
	_ = json.Unmarshal(fields.Details, &details) // what cannot be read stays empty
	for _, d := range details {
		p.delay = cmp.Or(p.delay, d.Delay)
	}
	return p, p.kind != "" || p.code != "" || p.message != ""
}

// word is a string or number of an error body as text; anything else is "".
func word(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// says reports whether the provider's type or code is one of names.
func (p problem) says(names ...string) bool {
	return slices.Contains(names, p.kind) || slices.Contains(names, p.code)
}

// mentions reports whether the message holds one of the phrases, which are lower case.
func (p problem) mentions(phrases ...string) bool {
	text := strings.ToLower(p.message)
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(text, phrase) })
}

// classify types an error answer. The protocols' vocabularies do not
// contradict each other, and gateways pass one provider's words through
// another's protocol, so there is one list for all.
func classify(status int, header http.Header, body []byte, now time.Time) *pawl.ModelError {
	e := typed(status, header, parseProblem(body), now)
	switch {
	case e.Message != "":
	case status >= 300 && status < 400:
		e.Message = "the server redirects to " + header.Get("Location") + ": set the base URL to the final address"
	case len(bytes.TrimSpace(body)) == 0 || looksLikeHTML(body):
		e.Message = http.StatusText(status)
	default:
		e.Message = string(body)
	}
	return e
}

// Answer returns the error for an answer with an HTTP status of 400 or more, for an agent that made the
// call itself. Key is left out of the message.
func Answer(status int, header http.Header, body []byte, key string) *pawl.ModelError {
	e := classify(status, header, body, time.Now())
	e.Message = Clean(e.Message, key)
	return e
}

// Unanswered returns the error for a call of an agent that a server did not answer at all.
func Unanswered(err error, host string) *pawl.ModelError {
	e := &pawl.ModelError{Kind: pawl.ModelNetwork, Message: Clean(reason(err), "")}
	if name, _, split := net.SplitHostPort(host); split == nil && errors.Is(err, syscall.ECONNREFUSED) {
		e.Unsent = true
		if address := net.ParseIP(name); name == "localhost" || address.IsLoopback() {
			e.Kind, e.Message = pawl.ModelNoServer, "nothing listens at "+host
		}
	}
	return e
}

// Told returns the error that an agent reports about its own model call. Status is the HTTP status,
// or 0 if there is none. The provider's JSON may be at the end of text.
func Told(status int, text string) *pawl.ModelError {
	p := problem{message: text}
	if i := strings.IndexByte(text, '{'); i >= 0 && json.Valid([]byte(text[i:])) {
		p = parseProblem([]byte(text[i:]))
	}
	e := typed(status, nil, p, time.Now())
	e.Message = Clean(cmp.Or(strings.TrimSpace(text), http.StatusText(status)), "")
	return e
}

// typed returns the error for a problem, with the time to wait.
func typed(status int, header http.Header, p problem, now time.Time) *pawl.ModelError {
	e := &pawl.ModelError{Kind: kindOf(status, p), Status: status, Message: p.message}
	switch {
	case e.Kind == pawl.ModelRefused, e.Kind == pawl.ModelContextLong, e.Kind == pawl.ModelUnknown, status >= 300 && status < 400: // no later try is answered otherwise
	case e.Kind == pawl.ModelRateLimit, e.Kind == pawl.ModelQuota:
		e.Wait = cmp.Or(RetryAfter(header, now), resets(header, now), RetryAfter(p.headers, now), resets(p.headers, now), until(p.delay, now))
	default:
		e.Wait = RetryAfter(header, now)
	}
	return e
}

// kindOf looks first for what the status alone does not tell.
func kindOf(status int, p problem) pawl.ModelErrorKind {
	switch {
	case refused(p):
		return pawl.ModelRefused
	case status != http.StatusTooManyRequests && contextTooLong(p):
		return pawl.ModelContextLong
	case status == http.StatusPaymentRequired || quotaExhausted(p):
		return pawl.ModelQuota
	case p.says("invalid_api_key") || p.mentions("api key not valid"):
		return pawl.ModelAuth
	case unknownModel(status, p):
		return pawl.ModelUnknown
	}
	if status == 0 {
		status, _ = strconv.Atoi(p.code) // some gateways put the status there
	}
	if kind, ok := kindOfStatus(status); ok {
		return kind
	}
	return kindOfType(p)
}

func refused(p problem) bool {
	return p.says("content_filter", "content_policy_violation", "invalid_prompt", "bio_policy",
		"misalignment_policy_violation", "image_content_policy_violation") ||
		p.mentions("content filtering policy", "content management policy")
}

func contextTooLong(p problem) bool {
	return p.says("context_length_exceeded", "exceed_context_size_error", "context_exceeded") ||
		p.mentions("prompt is too long", "exceed context limit", "maximum context length",
			"model's context length", "context window", "available context size", "exceeds context size",
			"context length exceeded", "input is too long", "exceeds the maximum number of tokens allowed",
			"context exceeds model limit")
}

// noModel matches what providers and agents say of a model that does not exist.
var noModel = pattern.Of("(?i)\\bmodel\\b.{0,100}\\b(does not exist|not found|is not supported|not exist)|models/[^ ]+ is not found|" +
	"(no such|unknown|invalid|unsupported) model\\b|issue with the selected model|not a valid model|no endpoints found")

// unknownModel reports whether there is no such model, or the account may not use it. A status alone
// does not say so: an address can be wrong too.
func unknownModel(status int, p problem) bool {
	switch {
	case p.says("model_not_found", "unknown_model", "invalid_model"):
		return true
	case status == http.StatusNotFound && strings.HasPrefix(p.message, "model:"): // Anthropic
		return true
	case status == http.StatusTooManyRequests || status >= 500 && status != http.StatusInternalServerError:
		return false
	}
	return noModel.MatchString(p.message)
}

func quotaExhausted(p problem) bool {
	return p.says("insufficient_quota", "billing_error", "billing_hard_limit_reached", "usage_limit_reached", "billing_not_active",
		"credit_balance_too_low", "insufficient_balance") ||
		p.mentions("credit balance is too low", "specified api usage limits", "insufficient credits",
			"insufficient balance", "exceeded your current quota", "quota exceeded", "exhausted your daily quota",
			"usage limit", "hit your limit", "hit your session limit", "hit your weekly limit")
}

// statusTimeout is what Cloudflare answers for a server that is too slow.
const statusTimeout = 524

func kindOfStatus(status int) (pawl.ModelErrorKind, bool) {
	switch status {
	case http.StatusTooManyRequests:
		return pawl.ModelRateLimit, true
	case http.StatusUnauthorized, http.StatusForbidden:
		return pawl.ModelAuth, true
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return pawl.ModelOverloaded, true
	case http.StatusGatewayTimeout, statusTimeout: // what the model behind it did, the gateway does not know
		return pawl.ModelTimeout, true
	}
	switch {
	case status >= 500:
		return pawl.ModelOverloaded, true
	case status >= 300:
		return pawl.ModelBadRequest, true
	}
	return "", false
}

// kindOfType is for errors inside a stream. What nobody has heard of is the
// server's trouble: it had accepted the request.
func kindOfType(p problem) pawl.ModelErrorKind {
	switch {
	case p.says("rate_limit_error", "rate_limit_exceeded"):
		return pawl.ModelRateLimit
	case p.says("authentication_error", "permission_error"):
		return pawl.ModelAuth
	case p.says("invalid_request_error", "not_found_error", "request_too_large", "model_not_found"):
		return pawl.ModelBadRequest
	}
	return pawl.ModelOverloaded
}

func looksLikeHTML(body []byte) bool {
	head := bytes.ToLower(bytes.TrimSpace(body[:min(len(body), 512)]))
	return bytes.HasPrefix(head, []byte("<!doctype")) || bytes.HasPrefix(head, []byte("<html"))
}

// maxWait bounds what a provider may ask for; more is a mistake of its clock.
const maxWait = 30 * 24 * time.Hour

// RetryAfter is how long the headers ask to wait: retry-after-ms, or
// retry-after in seconds or as an HTTP date. Zero when they do not say, or
// when the time has passed.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	if wait, ok := scaled(header.Get("Retry-After-Ms"), time.Millisecond); ok {
		return wait
	}
	value := header.Get("Retry-After")
	if wait, ok := scaled(value, time.Second); ok {
		return wait
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, min(at.Sub(now), maxWait))
	}
	return 0
}

// limits are the limits that providers tell of in headers: how much of each is left, and when
// it resets. Some are told without what is left.
var limits = []struct{ left, reset string }{
	{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
	{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
	{"Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
	{"Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
	{"", "Anthropic-Ratelimit-Unified-Reset"},
	{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
	{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	{"X-Ratelimit-Remaining", "X-Ratelimit-Reset"},
	{"Ratelimit-Remaining", "Ratelimit-Reset"},
}

// resets is how long it takes until every limit that is used up has reset. Zero when the
// headers do not say: they come with every answer, so a limit of which something is left
// says nothing.
func resets(header http.Header, now time.Time) (wait time.Duration) {
	for _, l := range limits {
		if left := header.Get(l.left); left == "" || left == "0" {
			wait = max(wait, until(header.Get(l.reset), now))
		}
	}
	return wait
}

// until is how long it takes until a reset, which providers write as a duration, as a time, as
// seconds from now, or as seconds or milliseconds since 1970.
func until(value string, now time.Time) time.Duration {
	const since, sinceMillis = 1e9, 1e12 // no wait has as many seconds, nor the time in seconds
	value = strings.TrimSpace(value)
	if d, err := time.ParseDuration(value); err == nil {
		return max(0, min(d, maxWait))
	}
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return max(0, min(at.Sub(now), maxWait))
	}
	n, err := strconv.ParseFloat(value, 64)
	switch {
	case err != nil || !(n > 0 && n < 10*sinceMillis):
		return 0
	case n >= sinceMillis:
		return max(0, min(time.UnixMilli(int64(n)).Sub(now), maxWait))
	case n >= since:
		return max(0, min(time.Unix(int64(n), 0).Sub(now), maxWait))
	}
	wait, _ := scaled(value, time.Second)
	return wait
}

func scaled(value string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil || n != n {
		return 0, false
	}
	limit := float64(maxWait) / float64(unit)
	return time.Duration(max(0, min(n, limit)) * float64(unit)), true
}
