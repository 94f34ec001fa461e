package runner

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"syscall"

	"pawl"
	"pawl/internal/kernel/brief"
)

// answer collects the blobs of one answer, without secrets.
type answer struct {
	redact func([]byte) []byte // nil leaves everything as it is
	blobs  []pawl.Blob
	// transcript is what a coding agent did in a turn that failed.
	transcript string
}

// clean is a text as it may become durable: valid UTF-8, without secrets.
func (a *answer) clean(s string) string {
	if a.redact != nil && s != "" {
		s = string(a.redact([]byte(s)))
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// cleanJSON is a JSON document without secrets; {} when there is none. What is no
// JSON, and what a secret took the marks of JSON out of, becomes a JSON string.
func (a *answer) cleanJSON(doc []byte) json.RawMessage {
	if len(bytes.TrimSpace(doc)) == 0 {
		return json.RawMessage("{}")
	}
	clean := a.clean(string(doc))
	if json.Valid([]byte(clean)) {
		return json.RawMessage(clean)
	}
	quoted, err := encode(clean)
	if err != nil {
		return json.RawMessage(`""`) // a string always encodes
	}
	return quoted
}

// text keeps a text and returns its hash and its size as it is kept; no text is
// no blob.
func (a *answer) text(s string) (pawl.Hash, int64) {
	if s = a.clean(s); s == "" {
		return pawl.Hash{}, 0
	}
	return a.keep([]byte(s)).Hash(), int64(len(s))
}

// document keeps a value as a JSON document. It fails for one that cannot be
// without a secret and a document.
func (a *answer) document(v any) (pawl.Blob, error) {
	doc, err := encode(v)
	if err != nil {
		return pawl.Blob{}, err
	}
	doc = []byte(a.clean(string(doc)))
	if !json.Valid(doc) {
		return pawl.Blob{}, pawl.Errorf(pawl.CodeInvalid, "a secret is part of the JSON syntax and cannot be removed")
	}
	return a.keep(doc), nil
}

func (a *answer) keep(data []byte) pawl.Blob {
	b := pawl.NewBlob(data)
	a.blobs = append(a.blobs, b)
	return b
}

// discreet is a room whose commands tell no secrets: what they print is cut, and lines are picked
// out of it, before it becomes an answer, and a part of a secret would not be known for one.
type discreet struct {
	pawl.Room
	redact func([]byte) []byte // nil leaves everything as it is
}

// Run implements [pawl.Room].
func (d discreet) Run(ctx context.Context, cmd pawl.Command) (pawl.CommandResult, error) {
	res, err := d.Room.Run(ctx, cmd)
	if d.redact != nil {
		res.Output, res.Stdout = d.redact(res.Output), d.redact(res.Stdout)
	}
	return res, err
}

// encode writes JSON as it is read: without escapes for HTML, so that what a
// provider gave to be handed back stays as it was.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// maxFailure and maxFix are how many bytes a failure's message may have, and what to do about it.
const (
	maxFailure = 300
	maxFix     = 200
)

// failure classes an error for the kernel. When the effect's time is up that is
// the reason, whatever the error makes of it. What no second try can mend (input
// that is wrong, stored data that is damaged) is a defect, unless the user
// configured it; anything that has no class of its own is the machine's.
func (a *answer) failure(ctx context.Context, err error) pawl.Failure {
	f := pawl.Failure{Code: pawl.FailMachine}
	text := err.Error()
	if e, ok := errors.AsType[*pawl.Error](err); ok && e.Hint != "" {
		text += "; " + e.Hint
	}
	model, isModel := errors.AsType[*pawl.ModelError](err)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		if f.Code = pawl.FailTimeout; isModel {
			f.Used, f.Estimated = usageOf(model.Used), model.Estimated
		}
	case isModel && model.Kind != "":
		f.Code, f.Wait, f.Unsent = pawl.FailureCode(model.Kind), max(model.Wait, 0), model.Unsent
		f.Free, f.Used, f.Estimated = model.Free, usageOf(model.Used), model.Estimated
		f.Fix = brief.Cut(a.clean(model.Fix), maxFix)
		if model.Message != "" && text == model.Error() { // whose beginning is the code
			text = model.Message
			if model.Status != 0 {
				text = fmt.Sprintf("HTTP %d: %s", model.Status, text)
			}
		}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		f.Code = pawl.FailSpace
	case pawl.CodeOf(err) == pawl.CodeConflict:
		f.Code = pawl.FailConflict
	case pawl.CodeOf(err) == pawl.CodeInvalid && errors.As(err, new(settingError)):
		f.Code = pawl.FailSetting
	case pawl.CodeOf(err) == pawl.CodeInvalid, pawl.CodeOf(err) == pawl.CodeDamaged:
		f.Code = pawl.FailDefect
	}
	if own, ok := errors.AsType[*ownError](err); ok {
		f.Unsent, f.Used = own.unsent, usageOf(own.used)
	}
	if b, ok := errors.AsType[*billed](err); ok {
		f.Free = f.Free || b.sent == 0
		if !f.Free && !f.Unsent && f.Used == (pawl.Usage{}) && !pawl.ModelErrorKind(f.Code).IsFree() {
			f.Used, f.Estimated = b.atMost(), true
		}
	}
	f.Message = brief.Cut(a.clean(text), maxFailure)
	return f
}

// settingError is an error in something that the user configured, and so not a defect of Pawl.
type settingError struct{ error }

func (e settingError) Unwrap() error { return e.error }

// ofSetting returns an error as one of something that the user configured; nil stays nil.
func ofSetting(err error) error {
	if err == nil {
		return nil
	}
	return settingError{err}
}

// billed is why a turn of a coding agent failed, with the bytes that went out of its room and came back in the
// meantime: what its agent does not tell of cannot be more.
type billed struct {
	error
	sent, received int64
}

func (b *billed) Unwrap() error { return b.error }

// atMost returns the usage that the bytes can have been: a token has at least three on average.
func (b *billed) atMost() pawl.Usage {
	const bytes = 3
	return pawl.Usage{Input: b.sent / bytes, Output: b.received / bytes}
}

// ownError is why a model call failed without its provider: before it was sent, or after the
// reply, which has its usage.
type ownError struct {
	error
	unsent bool
	used   pawl.Usage
}

func (e *ownError) Unwrap() error { return e.error }

// fingerprint identifies a set of words whatever their order and however often
// one is there; 0 = the empty set.
func fingerprint(words []string) uint64 {
	if len(words) == 0 {
		return 0
	}
	sorted := slices.Clone(words)
	slices.Sort(sorted)
	h := fnv.New64a()
	for _, w := range slices.Compact(sorted) {
		_, _ = h.Write(binary.AppendUvarint(nil, uint64(len(w))))
		_, _ = h.Write([]byte(w))
	}
	return h.Sum64() | 1
}
