package pawl

import (
	"context"
	"time"
)

// DefaultCacheSize is how many bytes a project's trusted cache may take on disk by default.
const DefaultCacheSize = 10_000_000_000

// Caches lists and prunes what a project's rooms keep on disk. A [Service] may implement
// it; see [ListCache] and [PruneCache].
type Caches interface {
	// Cache lists what is kept. It changes nothing.
	Cache(ctx context.Context) (CacheInfo, error)
	// PruneCache removes the oldest layers of the trusted cache until the rest is small
	// enough. It stops at the first layer that an open room uses.
	PruneCache(ctx context.Context, req PruneRequest) (PruneResult, error)
}

// CacheInfo is what a project's rooms keep on disk.
type CacheInfo struct {
	Limit  int64        `json:"limit"`  // bytes: above it, the oldest layers are removed
	Size   int64        `json:"size"`   // bytes that all layers take
	Layers []CacheLayer `json:"layers"` // the newest first
	// UseUnknown reports that it is not known which layers are in use, because the process
	// that has the project could not be asked.
	UseUnknown bool `json:"use_unknown,omitempty"`
	// Rooms is what the rooms of unfinished runs keep. It is not part of the cache: it is
	// removed with the loop or the run, and pruning leaves it alone.
	Rooms []KeptRoom `json:"rooms"`
}

// CacheLayer is one layer of the trusted cache: what the commands of one base room left.
type CacheLayer struct {
	Name  string    `json:"name"`
	Made  time.Time `json:"made"`
	Size  int64     `json:"size"`   // bytes on disk, measured when it was made
	InUse bool      `json:"in_use"` // an open room has it below what it writes
}

// KeptRoom is what one room keeps on disk.
type KeptRoom struct {
	Kind RoomKind `json:"kind"`
	Run  RunID    `json:"run,omitempty"` // of an agent's room
	Name string   `json:"name"`
	Size int64    `json:"size"` // bytes
	// Partial reports that there are so many files that not all were measured: Size is
	// the least it can be.
	Partial bool `json:"partial,omitempty"`
}

// RoomKind says which kind of room keeps something.
type RoomKind string

// The kinds of rooms that keep something.
const (
	RoomAgent    RoomKind = "agent"    // an agent's home and what it wrote to its caches
	RoomPrepared RoomKind = "prepared" // what the commands of prepare left for the gates of a commit
)

// PruneRequest asks for a smaller trusted cache.
type PruneRequest struct {
	// Size is how many bytes of layers may stay: 0 removes all of them. Missing means
	// the limit.
	Size *int64 `json:"size,omitempty"`
}

// PruneResult says what was removed of the trusted cache.
type PruneResult struct {
	Removed []CacheLayer `json:"removed"` // the newest first
	Freed   int64        `json:"freed"`   // bytes
	Size    int64        `json:"size"`    // bytes that are left; more than Target when open rooms use them
	Target  int64        `json:"target"`  // bytes that were allowed to stay
}

// ListCache calls [Caches.Cache] of a service that implements it.
func ListCache(ctx context.Context, s Service) (CacheInfo, error) {
	if c, ok := s.(Caches); ok {
		return c.Cache(ctx)
	}
	return CacheInfo{}, noCaches()
}

// PruneCache calls [Caches.PruneCache] of a service that implements it.
func PruneCache(ctx context.Context, s Service, req PruneRequest) (PruneResult, error) {
	if c, ok := s.(Caches); ok {
		return c.PruneCache(ctx, req)
	}
	return PruneResult{}, noCaches()
}

func noCaches() error {
	return Errorf(CodeUnavailable, "the trusted cache of this project cannot be reached from here")
}
