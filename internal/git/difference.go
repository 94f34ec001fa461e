package git

import (
	"bytes"
	"cmp"
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
func (k *Resident) Differences(ctx context.Context, from, to, except string, most int64) (found []Difference, complete bool, err error) {
	forth, back := from+" "+to+"\n", to+" "+from+"\n"
	p := patches{turn: back}
	complete = true
	err = k.compare(ctx, except, []string{"-U0", "--src-prefix=", "--dst-prefix="}, forth+back, func(line []byte) bool {
		most -= int64(len(line))
		complete = most >= 0
		p.lines = append(p.lines, line)
		return complete
	})
	if err != nil || !complete {
		return nil, false, err
	}
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

// compare asks for the patches between pairs of trees, without the paths below except, and
// calls see with each line until it returns false.
func (k *Resident) compare(ctx context.Context, except string, options []string, pairs string, see func(line []byte) bool) error {
	const end = "end\n" // which is no pair, so git prints it as it is; no patch has such a line
	args := append(diff("--stdin", "--no-renames", "--full-index", "-p"), options...)
	args = append(args, "--", ".", ":(top,exclude,literal)"+except)
	return k.with(ctx, args, func(c *conversation) (again bool, err error) {
		if _, err := c.requests.WriteString(pairs + end); err != nil {
			return false, err
		}
		for {
			line, err := c.answers.ReadBytes('\n')
			switch {
			case err != nil:
				return false, err
			case string(line) == end:
				return true, nil
			case !see(line):
				return false, nil
			}
		}
	})
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
func (o *Objects) FileDifferences(from, to, except string) ([]FileDifference, error) {
	var found []FileDifference
	if err := o.differ(Entry{Mode: ModeTree, Hash: from}, Entry{Mode: ModeTree, Hash: to}, "", except, &found); err != nil {
		return nil, err
	}
	slices.SortFunc(found, func(a, b FileDifference) int { return cmp.Compare(a.Path, b.Path) })
	return found, nil
}

// differ adds the files at and below a path at which two entries differ.
func (o *Objects) differ(from, to Entry, path, except string, found *[]FileDifference) error {
	if from == to || path != "" && path == except {
		return nil
	}
	if isFile(from) || isFile(to) {
		none := Entry{Mode: ModeNone, Hash: strings.Repeat("0", max(len(from.Hash), len(to.Hash))), Name: path}
		d := FileDifference{Path: path, Old: none, New: none}
		if isFile(from) {
			d.Old.Mode, d.Old.Hash = from.Mode, from.Hash
		}
		if isFile(to) {
			d.New.Mode, d.New.Hash = to.Mode, to.Hash
		}
		*found = append(*found, d)
	}
	below := map[string][2]Entry{}
	for i, e := range []Entry{from, to} {
		if e.Mode != ModeTree {
			continue
		}
		entries, err := o.Tree(e.Hash)
		if err != nil {
			return err
		}
		for _, inner := range entries {
			pair := below[inner.Name]
			pair[i] = inner
			below[inner.Name] = pair
		}
	}
	for name, pair := range below {
		at := name
		if path != "" {
			at = path + "/" + name
		}
		if err := o.differ(pair[0], pair[1], at, except, found); err != nil {
			return err
		}
	}
	return nil
}

// isFile reports whether an entry is there and is no tree.
func isFile(e Entry) bool { return e.Mode != "" && e.Mode != ModeTree }

// New lists the objects of a tree that another one does not have at the same paths: what an
// object refers to comes before it.
func (o *Objects) New(from, to string) ([]string, error) {
	var hashes []string
	err := o.added(from, to, &hashes)
	return hashes, err
}

func (o *Objects) added(from, to string, hashes *[]string) error {
	if from == to {
		return nil
	}
	old := map[string]Entry{}
	if from != "" {
		entries, err := o.Tree(from)
		if err != nil {
			return err
		}
		for _, e := range entries {
			old[e.Name] = e
		}
	}
	entries, err := o.Tree(to)
	if err != nil {
		return err
	}
	for _, e := range entries {
		was := old[e.Name]
		switch {
		case was.Hash == e.Hash || e.Mode == ModeSubmodule:
		case e.Mode != ModeTree:
			*hashes = append(*hashes, e.Hash)
		case was.Mode != ModeTree:
			err = o.added("", e.Hash, hashes)
		default:
			err = o.added(was.Hash, e.Hash, hashes)
		}
		if err != nil {
			return err
		}
	}
	*hashes = append(*hashes, to)
	return nil
}
