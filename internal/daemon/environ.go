package daemon

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"pawl"
)

// EnvironHeader is the header in which a client hands over variables of its
// environment, as [EncodeEnviron] writes them. It goes over the unix socket only.
const EnvironHeader = "Pawl-Environ"

// ProgramHeader is the header in which a client says which program it is: the one that
// takes the daemon's place when it is asked to make room.
const ProgramHeader = "Pawl-Program"

// maxEnviron is how much a client may hand over, in bytes as they are sent.
const maxEnviron = 48 << 10

type (
	environKey struct{}
	programKey struct{}
)

// Program is the path of the program that whoever asks is; empty when it did not say.
func Program(ctx context.Context) string {
	program, _ := ctx.Value(programKey{}).(string)
	return program
}

// WithEnviron says which variables, "NAME=value", whoever asks has handed over.
func WithEnviron(ctx context.Context, environ []string) context.Context {
	return context.WithValue(ctx, environKey{}, environ)
}

// Environ are the variables that were handed over with a request; nil when none were.
func Environ(ctx context.Context) []string {
	environ, _ := ctx.Value(environKey{}).([]string)
	return environ
}

// EncodeEnviron is how variables are written in the header.
func EncodeEnviron(environ []string) (string, error) {
	data, err := json.Marshal(environ)
	if err != nil {
		return "", err
	}
	text := base64.StdEncoding.EncodeToString(data)
	if len(text) > maxEnviron {
		return "", pawl.Errorf(pawl.CodeInvalid, "the variables to hand over take %d bytes: want at most %d", len(text), maxEnviron).
			WithHint("a shorter PATH helps most")
	}
	return text, nil
}

// Equipped takes variables out of the header of requests into their contexts. What
// cannot be read is passed over, and nothing behind it sees the header.
func Equipped(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := r.Header.Get(EnvironHeader)
		r.Header.Del(EnvironHeader)
		if program := r.Header.Get(ProgramHeader); program != "" {
			r = r.WithContext(context.WithValue(r.Context(), programKey{}, program))
		}
		var environ []string
		if data, err := base64.StdEncoding.DecodeString(text); err == nil && len(text) <= maxEnviron && json.Unmarshal(data, &environ) == nil {
			r = r.WithContext(WithEnviron(r.Context(), environ))
		}
		next.ServeHTTP(w, r)
	})
}
