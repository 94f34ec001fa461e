//go:build !linux && !darwin

package sandbox

import (
	"context"
	"runtime"

	"pawl"
	"pawl/internal/room"
)

// Box enforces nothing here: no command can be run.
type Box struct{}

// NewUnconfined is [Unconfined] with options, of which none matters here.
func NewUnconfined(Options) *Box { return &Box{} }

// New is [Probe] with options, of which none matters here.
func New(context.Context, Options) (*Box, error) { return nil, unsupported() }

// unsupported says what to do on a system on which commands cannot be run.
func unsupported() error {
	return pawl.Errorf(pawl.CodeUnavailable, "Pawl does not run commands on %s", runtime.GOOS).
		WithHint("on Windows, install and run it in WSL 2 (wsl --install); see docs/platforms.md")
}

// Confined implements [room.Enforcer].
func (b *Box) Confined() bool { return false }

// Helper says in one line which program stands around commands.
func (b *Box) Helper() string { return "pawl itself" }

// Mounts implements [room.Enforcer].
func (b *Box) Mounts() bool { return false }

// Owner implements [room.Enforcer].
func (b *Box) Owner() pawl.Owner { return pawl.Owner{} }

// Relay implements [room.Enforcer].
func (b *Box) Relay() ([]string, error) { return nil, unsupported() }

// Describe implements [room.Enforcer].
func (b *Box) Describe() string { return "none: commands cannot be run on " + runtime.GOOS }

// Overlay implements [room.Enforcer].
func (b *Box) Overlay(string) bool { return false }

// Open implements [room.Enforcer].
func (b *Box) Open(*room.Description) (room.Opened, error) { return nil, unsupported() }

// Join implements [room.Enforcer].
func (b *Box) Join(*room.Description) (room.Held, error) { return nil, unsupported() }
