//go:build !linux

package cgroup

import "errors"

// Group is a group of processes.
type Group struct{}

// Probe finds no control groups: they are the Linux kernel's.
func Probe() *Host { return &Host{why: "this is not Linux"} }

// RemoveLeftovers removes nothing.
func (h *Host) RemoveLeftovers() (int, error) { return 0, nil }

// New fails.
func (h *Host) New(string, Limits) (*Group, error) { return nil, errors.ErrUnsupported }

// Limit fails.
func (g *Group) Limit(Limits) error { return errors.ErrUnsupported }

// Add fails.
func (g *Group) Add(int) error { return errors.ErrUnsupported }

// FD is no descriptor.
func (g *Group) FD() (int, bool) { return -1, false }

// Met fails.
func (g *Group) Met() (Met, error) { return Met{}, errors.ErrUnsupported }

// Kill fails.
func (g *Group) Kill() error { return errors.ErrUnsupported }

// Close fails.
func (g *Group) Close() error { return errors.ErrUnsupported }
