package git

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"pawl"
)

// The modes of tree and index entries.
const (
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeSymlink    = "120000"
	ModeSubmodule  = "160000"
	ModeTree       = "40000"  // as it is in a tree object; the index has none
	ModeNone       = "000000" // of no entry, where two trees differ and for [Repo.Enter]
)

// ErrMissing means that the repository has no such object or ref.
var ErrMissing = errors.New("no such object")

// Object is one object of the store.
type Object struct {
	Hash string
	Type string // commit, tree, blob or tag
	Data []byte
	Size int64 // of the whole object, also where Data does not have all of it
}

// Objects reads objects, one after the other, through one git process. See [Resident.Objects].
type Objects struct {
	*conversation
	limit  int64
	broken error
}

// Get reads an object by its hash or by the full name of a ref. It returns
// [ErrMissing] when there is none.
func (o *Objects) Get(name string) (Object, error) { return o.read(name, o.limit, refuse) }

// GetSmall is Get of what may be large: Data is nil when it has more than most bytes.
func (o *Objects) GetSmall(name string, most int64) (Object, error) { return o.read(name, most, skip) }

// GetStart is like Get for an object that may be large: Data has only its beginning, at most
// most bytes.
func (o *Objects) GetStart(name string, most int64) (Object, error) {
	return o.read(name, most, shorten)
}

// excess says what becomes of an object that is larger than it may be.
type excess int

const (
	refuse excess = iota
	skip
	shorten
)

func (o *Objects) read(name string, most int64, over excess) (Object, error) {
	if o.broken != nil {
		return Object{}, o.broken
	}
	object, err := o.get(name, most, over)
	if err != nil && !errors.Is(err, ErrMissing) {
		o.broken = err
	}
	return object, err
}

func (o *Objects) get(name string, most int64, over excess) (Object, error) {
	if strings.ContainsAny(name, "\n\x00") {
		return Object{}, fmt.Errorf("object %q: %w", name, ErrMissing)
	}
	if _, err := io.WriteString(o.requests, name+"\n"); err != nil {
		return Object{}, fmt.Errorf("ask for object %s: %w", name, err)
	}
	header, err := o.answers.ReadString('\n')
	if err != nil {
		return Object{}, fmt.Errorf("read object %s: %w", name, err)
	}
	if strings.HasSuffix(header, " missing\n") || strings.HasSuffix(header, " ambiguous\n") {
		return Object{}, fmt.Errorf("object %s: %w", name, ErrMissing)
	}
	fields := strings.Fields(header)
	if len(fields) != 3 {
		return Object{}, fmt.Errorf("read object %s: git answered %q", name, header)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return Object{}, fmt.Errorf("read object %s: git answered %q", name, header)
	}
	object := Object{Hash: fields[0], Type: fields[1], Size: size}
	kept := size
	switch {
	case size <= most:
	case over == refuse:
		return Object{}, pawl.Errorf(pawl.CodeState, "object %s has %d bytes, more than the %d that are read", name, size, most)
	case over == skip:
		kept = 0
	case over == shorten:
		kept = most
	}
	if kept == size || over == shorten {
		object.Data = make([]byte, kept)
	}
	if _, err := io.ReadFull(o.answers, object.Data); err != nil {
		return Object{}, fmt.Errorf("read object %s: %w", name, err)
	}
	if _, err := io.CopyN(io.Discard, o.answers, size-kept+1); err != nil { // and the line's end
		return Object{}, fmt.Errorf("read object %s: %w", name, err)
	}
	return object, nil
}

// Commit is what this program reads of a commit.
type Commit struct {
	Hash, Tree string
	Parents    []string
	Message    string
	Time       time.Time // of the committer, to the second
}

// Commit reads a commit by its hash or by a ref.
func (o *Objects) Commit(name string) (Commit, error) {
	object, err := o.Get(name)
	if err != nil {
		return Commit{}, err
	}
	if object.Type != "commit" {
		return Commit{}, fmt.Errorf("%s is a %s, not a commit: %w", name, object.Type, ErrMissing)
	}
	c := Commit{Hash: object.Hash}
	head, message, _ := strings.Cut(string(object.Data), "\n\n")
	c.Message = message
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "tree":
			c.Tree = value
		case "parent":
			c.Parents = append(c.Parents, value)
		case "committer":
			c.Time = committed(value)
		}
	}
	return c, nil
}

// committed returns the time in a committer's line, which ends with the seconds and a zone;
// the time 0 where it has none that git would write.
func committed(line string) time.Time {
	fields := strings.Fields(line)
	seconds, err := strconv.ParseUint(fields[max(0, len(fields)-2)], 10, 63)
	if err != nil {
		seconds = 0
	}
	return time.Unix(int64(seconds), 0).UTC()
}

// Entry is one entry of a tree, or of the index with its whole path as the name.
type Entry struct {
	Mode, Hash, Name string
}

// Tree reads the entries of a tree, or of a commit's tree, in git's order.
func (o *Objects) Tree(name string) ([]Entry, error) {
	object, err := o.Get(name)
	if err == nil && object.Type == "commit" {
		var c Commit
		if c, err = o.Commit(object.Hash); err == nil {
			object, err = o.Get(c.Tree)
		}
	}
	if err != nil {
		return nil, err
	}
	if object.Type != "tree" {
		return nil, fmt.Errorf("%s is a %s, not a tree: %w", name, object.Type, ErrMissing)
	}
	var entries []Entry
	raw := len(object.Hash) / 2
	for rest := object.Data; len(rest) > 0; {
		end := bytes.IndexByte(rest, 0)
		if end < 0 || len(rest) < end+1+raw {
			return nil, pawl.Errorf(pawl.CodeDamaged, "tree %s is damaged", object.Hash)
		}
		mode, entry, _ := strings.Cut(string(rest[:end]), " ")
		entries = append(entries, Entry{Mode: mode, Name: entry, Hash: hex.EncodeToString(rest[end+1 : end+1+raw])})
		rest = rest[end+1+raw:]
	}
	return entries, nil
}

// Missing returns those of some objects that the repository does not have.
func (r Repo) Missing(ctx context.Context, hashes []string) ([]string, error) {
	out, err := r.output(ctx, strings.NewReader(strings.Join(hashes, "\n")+"\n"), "cat-file", "--batch-check")
	var missing []string
	for line := range strings.Lines(string(out)) {
		if hash, ok := strings.CutSuffix(line, " missing\n"); ok {
			missing = append(missing, hash)
		}
	}
	return missing, err
}
