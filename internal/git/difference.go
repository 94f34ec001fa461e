package git

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"pawl"
)

// Difference is one place where two trees differ.
type Difference struct {
	// Path is as git prints it, quoted where it must be.
	Path string
	// Went and Came are the lines without what is around them. What is no text has
	// one line each, with its mode or its hash.
	Went, Came [][]byte
}

// Differences are the places where two trees differ, without the paths below except.
// From one tree to the other and the other way round they are the same places with
// Went and Came exchanged, which a diff on its own is not: where several are as good,
// it chooses by direction. So both directions are printed, and of each file that one is
// taken in which its hash grows. When they have more than most bytes, complete is false.
func (r Repo) Differences(ctx context.Context, from, to, except string, most int64) (found []Difference, complete bool, err error) {
	args := append(diff("--stdin", "--no-renames", "--full-index", "-p", "-U0", "--src-prefix=", "--dst-prefix="), "--", ".", ":(top,exclude,literal)"+except)
	forth, back := from+" "+to+"\n", to+" "+from+"\n"
	out := &bounded{limit: most}
	_, err = r.run(ctx, strings.NewReader(forth+back), out, args...)
	if out.refused {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	p := patches{lines: slices.Collect(bytes.Lines(out.buf.Bytes())), turn: back}
	for len(p.lines) > 0 && err == nil {
		line := string(p.lines[0])
		switch {
		case line == forth:
			p.lines = p.lines[1:]
		case line == p.turn:
			p.lines, p.back = p.lines[1:], true
		default:
			err = p.file()
		}
	}
	return p.found, err == nil, err
}

// patches takes the output of a diff apart.
type patches struct {
	lines [][]byte // not yet read
	turn  string   // the line before those of the other direction
	back  bool     // it has come
	found []Difference
}

// garbled is the error that git printed a line which a diff cannot have.
func garbled(line []byte) error {
	return pawl.Errorf(pawl.CodeInternal, "git diff-tree printed %.100q, which is not part of a diff", line)
}

// file reads what differs in one file.
func (p *patches) file() error {
	path, isFile := bytes.CutPrefix(bytes.TrimSuffix(p.lines[0], []byte("\n")), []byte("diff --git "))
	if !isFile || len(path)%2 == 0 {
		return garbled(p.lines[0])
	}
	name := string(path[:len(path)/2]) // it is there twice
	old, now := "", ""
	var found []Difference
	text := false
	for p.lines = p.lines[1:]; len(p.lines) > 0; {
		line := string(p.lines[0])
		if strings.HasPrefix(line, "diff --git ") || line == p.turn {
			break
		}
		if strings.HasPrefix(line, "@@ ") {
			d, err := p.hunk(name)
			if err != nil {
				return err
			}
			found, text = append(found, d), true
			continue
		}
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case word == "old":
			found = append(found, Difference{Path: name, Went: [][]byte{[]byte(rest)}})
		case word == "new" && len(found) > 0: // and not that the file is new
			found[0].Came = [][]byte{[]byte(rest)}
		case word == "index":
			hashes, _, _ := strings.Cut(rest, " ")
			old, now, _ = strings.Cut(hashes, "..")
		}
		p.lines = p.lines[1:]
	}
	p.keep(name, old, now, text, found)
	return nil
}

// keep takes the differences of a file, if this is its direction.
func (p *patches) keep(name, old, now string, text bool, found []Difference) {
	if old > now || p.back && old == now {
		return
	}
	if old < now && !text {
		found = append(found, Difference{Path: name, Went: [][]byte{[]byte("blob " + old)}, Came: [][]byte{[]byte("blob " + now)}})
	}
	for _, d := range found {
		if p.back {
			d.Went, d.Came = d.Came, d.Went
		}
		p.found = append(p.found, d)
	}
}

// hunk reads one hunk.
func (p *patches) hunk(name string) (Difference, error) {
	d := Difference{Path: name}
	head := p.lines[0]
	fields := strings.Fields(string(head))
	if len(fields) < 4 {
		return d, garbled(head)
	}
	p.lines = p.lines[1:]
	for _, side := range []struct {
		sign, count string
		into        *[][]byte
	}{{"-", fields[1], &d.Went}, {"+", fields[2], &d.Came}} {
		n := 1
		if _, count, found := strings.Cut(side.count, ","); found {
			n, _ = strconv.Atoi(count)
		}
		for ; n > 0; n-- {
			if len(p.lines) == 0 || !bytes.HasPrefix(p.lines[0], []byte(side.sign)) {
				return d, garbled(head)
			}
			*side.into, p.lines = append(*side.into, p.lines[0][1:]), p.lines[1:]
		}
		if len(p.lines) > 0 && p.lines[0][0] == '\\' { // no newline at the end of the file
			p.lines = p.lines[1:]
		}
	}
	return d, nil
}

// FileDifference is a path at which two trees have different entries. The mode of an entry
// that is not there is [ModeNone], its hash has only zeros.
type FileDifference struct {
	Path     string
	Old, New Entry
}

// FileDifferences are the paths, sorted by bytes, at which two trees or commits differ,
// without those below except.
func (r Repo) FileDifferences(ctx context.Context, from, to, except string) ([]FileDifference, error) {
	out, err := r.output(ctx, nil, append(diff("--no-renames", "--raw", "--no-abbrev", "-z", from, to), "--", ".", ":(top,exclude,literal)"+except)...)
	if err != nil {
		return nil, err
	}
	var found []FileDifference
	for pair := range slices.Chunk(split(out), 2) { // what differs, and the path
		fields := strings.Fields(strings.TrimPrefix(pair[0], ":"))
		if len(fields) != 5 || len(pair) != 2 {
			return nil, garbled([]byte(pair[0]))
		}
		found = append(found, FileDifference{
			Path: pair[1],
			Old:  Entry{Mode: fields[0], Hash: fields[2], Name: pair[1]},
			New:  Entry{Mode: fields[1], Hash: fields[3], Name: pair[1]},
		})
	}
	return found, nil
}
