package tui

import (
	"slices"

	"pawl"
)

// maxBlobs is how many bytes of blobs are kept; the oldest go first.
const maxBlobs = 16 << 20

// cache keeps the blobs that are shown. It is part of the model: who reads one that
// is not there is told so, and it is asked for behind.
type cache struct {
	blobs   map[pawl.Hash][]byte
	order   []pawl.Hash // oldest first
	size    int
	failed  map[pawl.Hash]bool // cannot be read
	asked   map[pawl.Hash]bool // on the way
	missing []pawl.Hash        // read since wanted was called last, and not there
	rev     int                // goes up when there is more
}

func newCache() *cache {
	return &cache{blobs: map[pawl.Hash][]byte{}, failed: map[pawl.Hash]bool{}, asked: map[pawl.Hash]bool{}}
}

// read is a [view.Blobs].
func (c *cache) read(h pawl.Hash) ([]byte, error) {
	if data, ok := c.blobs[h]; ok {
		return data, nil
	}
	if !c.failed[h] && !c.asked[h] {
		c.missing = append(c.missing, h)
	}
	return nil, pawl.Errorf(pawl.CodeNotFound, "not read yet")
}

// most is how many blobs are asked for at once.
const most = 64

// wanted are the blobs to ask for: those that were read and not there.
func (c *cache) wanted() []pawl.Hash {
	var out []pawl.Hash
	for _, h := range c.missing {
		if len(out) < most && !slices.Contains(out, h) {
			out = append(out, h)
			c.asked[h] = true
		}
	}
	c.missing = nil
	return out
}

func (c *cache) put(h pawl.Hash, data []byte) {
	delete(c.asked, h)
	if _, known := c.blobs[h]; known {
		return
	}
	c.blobs[h] = data
	c.order = append(c.order, h)
	c.size += len(data)
	c.rev++
	for c.size > maxBlobs && len(c.order) > 1 {
		c.size -= len(c.blobs[c.order[0]])
		delete(c.blobs, c.order[0])
		c.order = c.order[1:]
	}
}

// took notes what became of blobs that were asked for.
func (c *cache) took(msg blobsMsg) {
	gone := msg.err != nil && pawl.CodeOf(msg.err) == pawl.CodeUnavailable
	for _, h := range msg.asked {
		if data, ok := msg.blobs[h]; ok {
			c.put(h, data)
			continue
		}
		delete(c.asked, h)
		if !gone {
			c.failed[h] = true
			c.rev++
		}
	}
}
