package index

import (
	"errors"
	"strings"
)

// kind is what a name in a folder stands for.
type kind int

const (
	kindOther kind = iota // neither of these
	kindFile
	kindLink
	kindFolder
)

// info is what is known of a file before it is read.
type info struct {
	kind       kind
	executable bool
	size       int64
	stat       stat
}

func (in info) mode() mode {
	switch {
	case in.kind == kindLink:
		return modeSymlink
	case in.executable:
		return modeExecutable
	default:
		return modeFile
	}
}

// errReplaced means that something took the place of a file or folder during the look.
var errReplaced = errors.New("it was replaced meanwhile")

// errLarge means that a file has grown beyond its limit.
var errLarge = errors.New("it is larger than its limit")

// enterAll opens a folder by its path.
func (h *handle) enterAll(path string) (*handle, error) {
	at := h
	for part := range strings.SplitSeq(path, "/") {
		inner, err := at.enter(part)
		if at != h {
			at.close()
		}
		if err != nil {
			return nil, err
		}
		at = inner
	}
	return at, nil
}

// content reads the file or symbolic link at a path.
func (h *handle) content(path string, most int64) ([]byte, info, error) {
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return h.read(path, most)
	}
	folder, err := h.enterAll(path[:at])
	if err != nil {
		return nil, info{}, err
	}
	defer folder.close()
	return folder.read(path[at+1:], most)
}
