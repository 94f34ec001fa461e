package local

import (
	"sync"

	"pawl"
)

// blobCacheSize is how many bytes of a run's latest blobs are kept in memory:
// a session reads its whole transcript before every model call.
const blobCacheSize = 8 << 20

// blobCache keeps the blobs a run appended last. It is a window on the log,
// never the only copy.
type blobCache struct {
	mu    sync.Mutex
	data  map[pawl.Hash][]byte
	order []pawl.Hash // oldest first
	size  int
}

func newBlobCache() *blobCache { return &blobCache{data: make(map[pawl.Hash][]byte)} }

func (c *blobCache) add(blobs []pawl.Blob) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range blobs {
		if _, ok := c.data[b.Hash()]; ok || len(b.Data()) > blobCacheSize/4 {
			continue
		}
		c.data[b.Hash()] = b.Data()
		c.order = append(c.order, b.Hash())
		c.size += len(b.Data())
	}
	for c.size > blobCacheSize {
		h := c.order[0]
		c.order = c.order[1:]
		c.size -= len(c.data[h])
		delete(c.data, h)
	}
}

func (c *blobCache) get(h pawl.Hash) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	data, ok := c.data[h]
	return data, ok
}
