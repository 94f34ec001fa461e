package callback

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"pawl"
	"pawl/internal/process"
)

// commandLimit is how long a command may take to hear of something.
const commandLimit = 30 * time.Second

// commandGrace is how long it has to end when that is over.
const commandGrace = time.Second

// Announce tells a command, an address or both the same JSON body, each once, and
// returns the HTTP status, zero when there is no address or no answer. What goes
// wrong with one does not keep the other from hearing of it, and is an error; the
// codes are those of [Sender.Send]. A command that fails may be tried again.
//
// The command is the user's own: their shell runs it, in no sandbox, with their
// environment and what is in env, with the body on its standard input. What it
// prints is dropped. When its time is up, or ctx ends, it is ended with all it
// started that stayed in its process group. No error tells what the command is: it
// may hold a secret.
func (s *Sender) Announce(ctx context.Context, to pawl.Announcing, delivery string, body []byte, env []string) (status int, err error) {
	var sent, ran error
	if to.Callback != nil {
		status, sent = s.Send(ctx, *to.Callback, delivery, body)
		if e, ok := errors.AsType[*pawl.Error](sent); ok {
			sent = e.WithHint("%s", strings.ReplaceAll(e.Hint, "callback.", "announce."))
		}
	}
	if to.Command != "" {
		ran = s.run(ctx, to.Command, body, env)
	}
	switch {
	case sent == nil:
		return status, ran
	case ran == nil:
		return status, sent
	}
	return status, pawl.Errorf(pawl.CodeOf(ran), "%w; %v", ran, sent)
}

func (s *Sender) run(ctx context.Context, command string, body []byte, env []string) error {
	within := s.commandLimit
	if within == 0 {
		within = commandLimit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, errLate)
	defer cancel()
	cmd := process.Command(ctx, commandGrace, "sh", "-c", command)
	cmd.Stdin, cmd.Env = bytes.NewReader(body), append(os.Environ(), env...)
	err := process.Run(cmd)
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil
	case errors.Is(context.Cause(ctx), errLate):
		return pawl.Errorf(pawl.CodeUnavailable, "the command that receives questions took longer than %s", pawl.Span(within))
	case errors.As(err, &exit):
		return pawl.Errorf(pawl.CodeUnavailable, "the command that receives questions failed (exit %d)", exit.ExitCode())
	}
	return pawl.Errorf(pawl.CodeUnavailable, "the command that receives questions: %w", err)
}
