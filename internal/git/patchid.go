package git

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // as git patch-id does
	"encoding/hex"
	"hash"
	"strconv"
)

// PatchID identifies the difference between two trees whatever its line numbers, without the
// paths below except. It is empty when there is none.
func (k *Resident) PatchID(ctx context.Context, from, to, except string) (string, error) {
	if from == to {
		return "", nil
	}
	id := patchID{hunk: sha1.New()} //nolint:gosec // as above
	first := true
	err := k.compare(ctx, except, nil, from+" "+to+"\n", func(line []byte) bool {
		if !first { // which names the trees
			id.add(line)
		}
		first = false
		return true
	})
	if err != nil {
		return "", err
	}
	return id.text(), nil
}

// patchID is what git patch-id --verbatim tells of a patch: the sum of the hashes of its
// files, each of their lines without those that say where hunks are. Indentation is meaning in
// some languages, so white space counts.
type patchID struct {
	sum  [sha1.Size]byte
	hunk hash.Hash // of the present file
	some bool      // there was a line

	header, binary bool
	hashes         []byte // of the present file, from its header
	went, came     int    // lines of the present hunk that are still to come
}

// add takes the next line of a patch.
func (p *patchID) add(line []byte) {
	begins := bytes.HasPrefix(line, []byte("diff "))
	if !p.some && !begins {
		return
	}
	switch {
	case bytes.HasPrefix(line, []byte(`\ `)): // no newline at the end of the file
		p.write(line)
		return
	case p.binary:
		if begins { // which does not count after a file that is no text
			p.binary, p.header = false, true
		}
		return
	case !p.some:
		p.header = true
	}
	if p.header {
		if hashes, found := bytes.CutPrefix(line, []byte("index ")); found {
			hashes, _, _ = bytes.Cut(bytes.TrimSuffix(hashes, []byte("\n")), []byte(" "))
			p.hashes = bytes.Replace(hashes, []byte(".."), nil, 1)
			return
		}
		if bytes.HasPrefix(line, []byte("Binary files ")) {
			p.write(p.hashes)
			p.flush()
			p.binary = true
			return
		}
		if bytes.HasPrefix(line, []byte("--- ")) { // it counts as a hunk of one line
			p.header, p.went, p.came = false, 1, 1
		}
	} else if p.went == 0 && p.came == 0 {
		if bytes.HasPrefix(line, []byte("@@ -")) {
			p.went, p.came = hunkLines(line)
			return
		}
		p.flush()
		p.header = true
	}
	if line[0] == '-' || line[0] == ' ' {
		p.went--
	}
	if line[0] == '+' || line[0] == ' ' {
		p.came--
	}
	p.some = true
	p.write(line)
}

// write adds to the hash of the present file what git reads of a line.
func (p *patchID) write(line []byte) {
	if at := bytes.IndexByte(line, 0); at >= 0 {
		line = line[:at]
	}
	_, _ = p.hunk.Write(line)
}

// flush adds the hash of the present file to the sum.
func (p *patchID) flush() {
	carry := 0
	for i, b := range p.hunk.Sum(nil) {
		carry += int(p.sum[i]) + int(b)
		p.sum[i] = byte(carry)
		carry >>= 8
	}
	p.hunk.Reset()
}

// text returns the id of what was added; empty if that is nothing.
func (p *patchID) text() string {
	if !p.some {
		return ""
	}
	p.flush()
	return hex.EncodeToString(p.sum[:])
}

// hunkLines returns how many lines a hunk has of the old and of the new file.
func hunkLines(head []byte) (went, came int) {
	fields := bytes.Fields(head)
	count := func(at int) int {
		if len(fields) <= at {
			return 0
		}
		_, n, found := bytes.Cut(fields[at], []byte(","))
		lines, err := strconv.Atoi(string(n))
		if !found || err != nil {
			return 1
		}
		return lines
	}
	return count(1), count(2)
}
