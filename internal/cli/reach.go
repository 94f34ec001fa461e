package cli

import (
	"context"
	"errors"
	"net"
	"time"

	"pawl"
	"pawl/internal/view"
)

// With reaches the project and does something with it that is done whole or not
// at all. When the process that owns the project goes away before it is asked,
// the project is reached, and the thing done, again. Close the session.
func (a *App) With(ctx context.Context, access Access, do func(*Session) error) (*Session, error) {
	for wait := 10 * time.Millisecond; ; wait *= 2 {
		s, err := a.Open(ctx, access)
		if err != nil {
			return nil, err
		}
		if err = do(s); err == nil {
			return s, nil
		}
		again := s.Remote && unasked(err) && wait < time.Second
		if cerr := s.Close(); cerr != nil || !again {
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// unasked reports whether an error means that the owner was not even reached.
func unasked(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// OpenRun reaches the project and finds the run a command was given: its first
// argument, or the latest run. What is to be done with it at once comes with
// it; do may be nil. Close the session.
func (a *App) OpenRun(ctx context.Context, access Access, args []string, do func(*Session, pawl.RunInfo) error) (*Session, pawl.RunInfo, error) {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	var info pawl.RunInfo
	s, err := a.With(ctx, access, func(s *Session) (err error) {
		if info, err = Find(ctx, s, name); err != nil && name != "" && pawl.CodeOf(err) == pawl.CodeNotFound {
			info, err = a.readDeleted(ctx, s.Service, access, name, err)
		}
		if err != nil || do == nil {
			return err
		}
		return do(s, info)
	})
	return s, info, err
}

// ReadRun reaches the project and reads the run a command was given, as OpenRun
// finds it: one that is damaged as far as its events can be read. Close the session.
func (a *App) ReadRun(ctx context.Context, args []string) (*Session, pawl.RunInfo, *view.Run, error) {
	s, info, err := a.OpenRun(ctx, Read, args, nil)
	if err != nil {
		return nil, info, nil, err
	}
	r, err := Fold(ctx, s, info.ID)
	if err != nil && r.Seq == 0 {
		_ = s.Close()
		return nil, info, nil, err
	}
	r.Undriven, r.Needs = info.Status == StatusInterrupted, info.Needs
	if info.Waiting != nil {
		r.Hear(info.Waiting)
	}
	if a.MergedInto != nil && r.Outcome.Succeeded() && r.Start.Begin == "" {
		r.MergedInto = a.MergedInto(ctx, r)
	}
	return s, info, r, nil
}
