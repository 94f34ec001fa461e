package modeltest

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"pawl"
)

// AnswerWith lets a model speak for the server, a scripted one for instance,
// so that whoever connects hears it through a real protocol. Its errors become
// the answers a provider would give. The requests it gets have no Place.
func AnswerWith(m pawl.Model) func(pawl.ModelRequest) Reply {
	return func(req pawl.ModelRequest) Reply {
		reply, err := m.Call(context.Background(), req, nil)
		if err == nil {
			return Reply{Blocks: reply.Message.Blocks, Stop: reply.Stop, Usage: reply.Usage, Model: reply.Model}
		}
		failure, ok := errors.AsType[*pawl.ModelError](err)
		if !ok {
			failure = &pawl.ModelError{Kind: pawl.ModelOverloaded, Message: err.Error()}
		}
		return failing(failure)
	}
}

// failing is the reply a client takes for the error.
func failing(e *pawl.ModelError) Reply {
	fault := Fault{Kind: FaultStatus, Status: e.Status, Header: http.Header{}}
	if e.Wait > 0 {
		fault.Header.Set("Retry-After-Ms", strconv.FormatInt(e.Wait.Milliseconds(), 10))
	}
	kind, status := "api_error", http.StatusServiceUnavailable
	switch e.Kind {
	case pawl.ModelRefused:
		return Reply{Refusal: orText(e.Message)}
	case pawl.ModelNetwork:
		return Reply{Fault: Fault{Kind: FaultCut}}
	case pawl.ModelTimeout:
		return Reply{Fault: Fault{Kind: FaultHang}}
	case pawl.ModelRateLimit:
		kind, status = "rate_limit_error", http.StatusTooManyRequests
	case pawl.ModelAuth:
		kind, status = "authentication_error", http.StatusUnauthorized
	case pawl.ModelBadRequest:
		kind, status = "invalid_request_error", http.StatusBadRequest
	case pawl.ModelContextLong:
		kind, status = "context_length_exceeded", http.StatusBadRequest
	case pawl.ModelUnknown:
		kind, status = "model_not_found", http.StatusNotFound
	case pawl.ModelQuota:
		kind, status = "billing_error", http.StatusPaymentRequired
	}
	if fault.Status == 0 {
		fault.Status = status
	}
	fault.Body = mustJSON(map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": orText(e.Message)}})
	return Reply{Fault: fault}
}

func orText(message string) string {
	if message == "" {
		return "The script says so."
	}
	return message
}
