package pawl

import (
	"errors"
	"fmt"
)

// Code classes an error for callers, for HTTP statuses and for exit codes. It
// survives the wire.
type Code string

// The codes. An error without one is internal.
const (
	CodeInvalid     Code = "invalid"     // what was given is wrong: fix the input
	CodeNotFound    Code = "not_found"   // no such run, event or blob
	CodeConflict    Code = "conflict"    // it exists already, or someone was faster
	CodeState       Code = "state"       // not possible in the present state
	CodeConsent     Code = "consent"     // the user has to allow it first
	CodeFolder      Code = "folder"      // a folder is not there, or in no repository, or in another one
	CodeKey         Code = "key"         // a model's provider needs a key that is not there
	CodeUnavailable Code = "unavailable" // something that is needed is not there: a sandbox, a model, a socket
	CodeStopped     Code = "stopped"     // the daemon was told to stop: its runs continue with the next one
	CodeDamaged     Code = "damaged"     // stored data cannot be read; the run is quarantined
	CodeInternal    Code = "internal"    // our fault
)

// Error is an error with a code and, where there is one, the next step.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Hint says what to do next; empty when there is nothing better to say.
	Hint string `json:"hint,omitempty"`
	// About is the hash of what the user has to agree to first, for [CodeConsent]; else zero.
	About Hash `json:"about,omitzero"`
	// Field is the field of a request that is wrong, such as flags.budget; empty = none, or
	// several.
	Field string `json:"field,omitempty"`
	// Err is what it wraps; it does not survive the wire.
	Err error `json:"-"`
}

func (e *Error) Error() string { return e.Message }

func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error whose message is the format; a %w in it is wrapped.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// WithHint returns a copy of the error with a next step.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = fmt.Sprintf(format, args...)
	return &c
}

// WithField returns a copy of the error that names the field of the request that is wrong.
func (e *Error) WithField(field string) *Error {
	c := *e
	c.Field = field
	return &c
}

// CodeOf returns the code of the first Error in the chain; [CodeInternal] when there is none.
func CodeOf(err error) Code {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}
