package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"github.com/klauspost/compress/zstd"

	"pawl"
)

const (
	// packFrom is the size in bytes from which on blobs are compressed.
	packFrom = 4 << 10
	// fileOver is the size in bytes above which blobs are files.
	fileOver = 64 << 10
)

// form says how a blob is stored. It is the one-byte marker in refs.
type form byte

const (
	packed form = 1 << iota // zstd
	inFile                  // in the folder blobs, not in the row
)

// ref says what a unit stores of one blob.
type ref struct {
	hash   pawl.Hash
	form   form
	stored int // bytes stored
	size   int // bytes of content
}

// place is where a blob of a run is.
type place struct {
	unit   int64
	offset int // in the unit's blobs
	ref
}

func appendRefs(buf []byte, refs []ref) []byte {
	for _, r := range refs {
		buf = append(buf, r.hash[:]...)
		buf = append(buf, byte(r.form))
		buf = binary.AppendUvarint(buf, uint64(r.stored))
		buf = binary.AppendUvarint(buf, uint64(r.size))
	}
	return buf
}

// places reads what appendRefs wrote. An error means that a newer Pawl wrote it:
// the unit's checksum covers it.
func (u *unit) places() ([]place, error) {
	var all []place
	offset := 0
	for rest := u.refs; len(rest) > 0; {
		p := place{unit: u.id, offset: offset}
		if len(rest) < len(p.hash)+1 {
			return nil, errors.New("its list of blobs is cut short")
		}
		p.form = form(rest[copy(p.hash[:], rest)])
		rest = rest[len(p.hash)+1:]
		if p.form&^(packed|inFile) != 0 {
			return nil, fmt.Errorf("blob %s has the unknown form %d", p.hash.Short(), p.form)
		}
		for _, v := range [...]*int{&p.stored, &p.size} {
			n, width := binary.Uvarint(rest)
			if width <= 0 {
				return nil, errors.New("its list of blobs is cut short")
			}
			*v, rest = int(n), rest[width:]
		}
		if p.form&inFile == 0 {
			offset += p.stored
		}
		all = append(all, p)
	}
	return all, nil
}

// packer compresses and decompresses blobs. It may be used by many goroutines.
type packer struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

func newPacker() (*packer, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("make a compressor: %w", err)
	}
	dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("make a decompressor: %w", err)
	}
	return &packer{enc: enc, dec: dec}, nil
}

// pack gives the bytes to store and their form. What does not shrink by an
// eighth is stored as it is.
func (p *packer) pack(content []byte) ([]byte, form) {
	if len(content) < packFrom {
		return content, 0
	}
	small := p.enc.EncodeAll(content, make([]byte, 0, len(content)/2))
	if len(small) > len(content)-len(content)/8 {
		return content, 0
	}
	return small, packed
}

// unpack gives the content back and checks it against its hash.
func (p *packer) unpack(r ref, stored []byte) ([]byte, error) {
	content := stored
	if r.form&packed != 0 {
		var header zstd.Header
		if err := header.Decode(stored); err != nil {
			return nil, fmt.Errorf("read the compressed form: %w", err)
		}
		if !header.HasFCS || header.FrameContentSize != uint64(r.size) {
			return nil, fmt.Errorf("the compressed form announces another size than %d bytes", r.size)
		}
		var err error
		if content, err = p.dec.DecodeAll(stored, make([]byte, 0, r.size)); err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
	}
	if len(content) != r.size || pawl.HashOf(content) != r.hash {
		return nil, errors.New("the content has another hash")
	}
	return content, nil
}

// blobFile is the name of a blob's file below the log's folder.
func blobFile(r ref) string {
	hex := r.hash.String()
	name := blobFolder + "/" + hex[:2] + "/" + hex
	if r.form&packed != 0 {
		name += ".zst"
	}
	return name
}

// readBlobFile reads a blob's file. An error that is damage says so.
func readBlobFile(files fileSystem, r ref) ([]byte, error) {
	name := blobFile(r)
	stored, err := files.read(name, int64(r.stored))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, pawl.Errorf(pawl.CodeDamaged, "the file %s is missing", name)
	case errors.Is(err, errOtherSize):
		return nil, pawl.Errorf(pawl.CodeDamaged, "%s: %w", name, err)
	case err != nil:
		return nil, files.explain("read "+name, err)
	}
	return stored, nil
}
