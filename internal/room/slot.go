package room

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"pawl"
)

// slot has the one room that is open on a worktree: that of the loop's tools, or that of a coding
// agent. The mutex of [Rooms] guards it.
type slot struct {
	room     *room              // nil = none is open
	delegate *pawl.DelegateSpec // describes the room of a coding agent; nil = it is that of the tools
	users    int                // how many have the coding agent's room open
	freed    chan struct{}      // closed when users becomes zero; nil = nobody waits for that
	left     bool               // it is no longer one of the slots
}

// leave tells those who wait for the slot that it never becomes free.
func (s *slot) leave() {
	s.left = true
	s.wake()
}

// wake wakes those who wait for the slot.
func (s *slot) wake() {
	if s.freed != nil {
		close(s.freed)
		s.freed = nil
	}
}

// lockSlot locks the mutex and returns the slot of a folder, when its room is not in use or shares
// reports that the caller can use it as well. If it returns an error, the mutex is not locked: ctx
// ended, or the room was closed for good meanwhile.
func (r *Rooms) lockSlot(ctx context.Context, folder string, shares func(*slot) bool) (*slot, error) {
	for {
		r.mu.Lock()
		s := r.slots[folder]
		if s == nil {
			s = &slot{}
			r.slots[folder] = s
		}
		if s.users == 0 || shares(s) {
			return s, nil
		}
		if s.freed == nil {
			s.freed = make(chan struct{})
		}
		freed, agent := s.freed, s.delegate.Agent
		r.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return nil, fmt.Errorf("wait until the room of agent %s is free: %w", agent, ctx.Err())
		}
		r.mu.Lock()
		left := s.left
		r.mu.Unlock()
		if left {
			return nil, pawl.Errorf(pawl.CodeState, "the room of agent %s was closed with its worktree", agent)
		}
	}
}

// free gives up one use of a slot.
func (r *Rooms) free(s *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.users--; s.users == 0 {
		s.wake()
	}
}

// vacate closes the room of a slot, if one is open. What is joined in its worktree stays joined. The
// caller holds the mutex.
func (r *Rooms) vacate(s *slot) error {
	x := s.room
	s.room, s.delegate = nil, nil
	switch {
	case x == nil:
		return nil
	case x.joint == nil || r.joined[x.joint.dir] != x.joint:
		return x.shut()
	}
	return x.end(func() error { x.joint.opened.Unfurnish(); return nil })
}

// sameDelegate reports whether two descriptions are of the same room.
func sameDelegate(a, b *pawl.DelegateSpec) bool {
	sameFile := func(a, b pawl.RoomFile) bool {
		return a.Path == b.Path && a.Executable == b.Executable && bytes.Equal(a.Data, b.Data)
	}
	return a.AgentRoom == b.AgentRoom && a.Agent == b.Agent && a.ReadOnly == b.ReadOnly &&
		slices.Equal(a.Hide, b.Hide) && slices.Equal(a.Programs, b.Programs) && slices.Equal(a.Environ, b.Environ) && slices.Equal(a.Egress, b.Egress) &&
		slices.EqualFunc(a.Home, b.Home, sameFile) && sameGateway(a.Gateway, b.Gateway)
}

func sameGateway(a, b *pawl.Gateway) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Address == b.Address && a.Token == b.Token
}
