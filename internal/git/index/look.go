package index

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"pawl/internal/git"
)

// The files that say what is ignored and how contents are stored.
const (
	ignoreFile     = ".gitignore"
	attributesFile = ".gitattributes"
)

// maxPath is the length from which on the system takes no path, so git records none.
const maxPath = 4096

// special reports whether a path is that of a file that git itself reads.
func special(at string) bool {
	name := path.Base(at)
	return name == ignoreFile || name == attributesFile
}

// look is one look at a folder. It notes what differs from the index, of which nothing
// changes before [look.take].
type look struct {
	x     *Index
	top   *handle
	o     Options
	began moment

	files   []candidate // the index has them
	unknown []candidate // it does not
	gone    []string    // paths of files and folders
	apart   bool        // the folder that is apart is there
	beside  []candidate // its files that are known

	rules      strings.Builder // .gitignore files, by their paths and stats
	unsettled  bool            // one of them may change without that being seen
	attributes map[string]attributes
}

// candidate is a file that may have to be taken up.
type candidate struct {
	path string
	was  *file // in the index; nil for an unknown path
	info info
}

func newLook(x *Index, top *handle, o Options) *look {
	return &look{x: x, top: top, o: o, began: momentOf(o.Began), attributes: map[string]attributes{}}
}

// unreadable is the error about what could not be read.
func unreadable(path string, err error) error {
	return &Unsupported{Reason: ReasonUnreadable, Path: path, Err: err}
}

// everything looks at all that is there.
func (l *look) everything(ctx context.Context) error {
	l.rules.WriteString(l.o.Rules)
	if err := l.folder(ctx, l.top, l.x.root, ""); err != nil {
		return err
	}
	if l.o.WithApart && !l.apart {
		l.x.apart = nil
	}
	for at, a := range l.x.attributes {
		if _, still := l.attributes[at]; !still && a.effect != 0 {
			return &Unsupported{Reason: ReasonAttributes, Path: at}
		}
	}
	l.x.attributes = l.attributes
	return nil
}

// folder compares a folder with what the index has of it.
func (l *look) folder(ctx context.Context, d *handle, f *folder, at string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	names, err := d.names()
	if err != nil {
		return unreadable(at, err)
	}
	i, j := 0, 0
	for _, n := range names {
		for ; i < len(f.files) && f.files[i].name < n; i++ {
			l.gone = append(l.gone, join(at, f.files[i].name))
		}
		for ; j < len(f.folders) && f.folders[j].name < n; j++ {
			l.gone = append(l.gone, join(at, f.folders[j].name))
		}
		var was *file
		var below *folder
		if i < len(f.files) && f.files[i].name == n {
			was = &f.files[i]
			i++
		}
		if j < len(f.folders) && f.folders[j].name == n {
			below = f.folders[j]
			j++
		}
		if err := l.entry(ctx, d, n, join(at, n), was, below); err != nil {
			return err
		}
	}
	for ; i < len(f.files); i++ {
		l.gone = append(l.gone, join(at, f.files[i].name))
	}
	for ; j < len(f.folders); j++ {
		l.gone = append(l.gone, join(at, f.folders[j].name))
	}
	return nil
}

// entry compares an entry of a folder with what the index has in its place.
func (l *look) entry(ctx context.Context, d *handle, name, at string, was *file, below *folder) error {
	switch {
	case at == ".git", at == l.o.Apart && !l.o.WithApart:
		return nil
	case name == ".git":
		return &Unsupported{Reason: ReasonRepository, Path: at}
	case len(at) >= maxPath:
		return &Unsupported{Reason: ReasonName, Path: at[:100] + "..."}
	}
	in, err := d.stat(name)
	if err != nil {
		return unreadable(at, err)
	}
	switch isFolder := in.kind == kindFolder; {
	case at == l.o.Apart:
		if !isFolder {
			return &Unsupported{Reason: ReasonKind, Path: at}
		}
		if l.apart = true; l.x.apart == nil {
			l.x.apart = &folder{}
		}
		return l.enter(ctx, d, name, l.x.apart, at)
	case isFolder && below != nil:
		return l.enter(ctx, d, name, below, at)
	case isFolder && was == nil && isAbove(at, l.o.Apart):
		return l.enter(ctx, d, name, &folder{}, at)
	case isFolder:
		if was != nil {
			l.gone = append(l.gone, at)
		}
		l.unknown = append(l.unknown, candidate{path: at, info: in})
		return nil
	}
	if below != nil {
		l.gone = append(l.gone, at)
	}
	return l.file(d, name, at, was, in)
}

// isAbove reports whether a path is below a folder.
func isAbove(folder, path string) bool {
	_, below := cutFolder(path, folder)
	return below
}

// enter looks at a folder in a folder.
func (l *look) enter(ctx context.Context, d *handle, name string, f *folder, at string) error {
	inner, err := d.enter(name)
	if err != nil {
		return unreadable(at, err)
	}
	defer inner.close()
	return l.folder(ctx, inner, f, at)
}

// file compares a file with what the index has in its place.
func (l *look) file(d *handle, name, at string, was *file, in info) error {
	if err := l.note(d, name, at, in); err != nil {
		return err
	}
	if _, apart := cutFolder(at, l.o.Apart); apart && was != nil {
		l.beside = append(l.beside, candidate{path: at, was: was, info: in})
	}
	switch {
	case was == nil:
		l.unknown = append(l.unknown, candidate{path: at, info: in})
	case in.kind == kindOther:
		return &Unsupported{Reason: ReasonKind, Path: at}
	case was.racy || in.mode() != was.mode || !in.stat.same(was.stat):
		l.files = append(l.files, candidate{path: at, was: was, info: in})
	}
	return nil
}

// note notes files that git itself reads.
func (l *look) note(d *handle, name, at string, in info) error {
	switch name {
	case ignoreFile:
		fmt.Fprintf(&l.rules, "%q %d %v\n", at, in.kind, in.stat)
		l.unsettled = l.unsettled || !in.stat.settled(l.began)
	case attributesFile:
		if in.kind != kindFile {
			return &Unsupported{Reason: ReasonAttributes, Path: at}
		}
		a, known := l.x.attributes[at]
		if !known || !a.stat.same(in.stat) || a.racy {
			content, _, err := d.read(name, maxAttributes)
			if err != nil {
				return unreadable(at, err)
			}
			a = attributes{effect: effectOf(content), stat: in.stat, racy: !in.stat.settled(l.began)}
		}
		if a.effect == effectAny {
			return &Unsupported{Reason: ReasonAttributes, Path: at}
		}
		l.attributes[at] = a
	}
	return nil
}

// one looks at one path alone. What git itself reads is for a look at everything.
func (l *look) one(at string) error {
	l.attributes, l.unsettled = l.x.attributes, l.x.unsettled
	l.rules.WriteString(l.x.rules)
	if _, apart := cutFolder(at, l.o.Apart); apart || at == l.o.Apart {
		return nil
	}
	d, f := l.top, l.x.root
	dir, name := path.Split(at)
	for part := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if part == "" {
			break
		}
		inner, err := d.enter(part)
		if err != nil {
			return unreadable(at, err)
		}
		defer inner.close()
		d = inner
		if f != nil {
			if _, isFile := f.seekFile(part); isFile {
				return unreadable(at, errReplaced)
			}
			f = f.child(part)
		}
	}
	var was *file
	if f != nil {
		if i, found := f.seekFile(name); found {
			was = &f.files[i]
		}
		if f.child(name) != nil {
			return unreadable(at, errReplaced)
		}
	}
	in, err := d.stat(name)
	if err == nil && in.kind == kindFolder {
		err = errReplaced
	}
	if err != nil {
		return unreadable(at, err)
	}
	return l.file(d, name, at, was, in)
}

// measure refuses what git may refuse or treat in its own way, and what exceeds the limits.
func (l *look) measure(context.Context) error {
	for _, at := range l.gone {
		if path.Base(at) == attributesFile {
			return &Unsupported{Reason: ReasonAttributes, Path: at}
		}
	}
	var total int64
	for _, c := range append(l.files[:len(l.files):len(l.files)], l.unknown...) {
		switch total += c.info.size; {
		case path.Base(c.path) == attributesFile: // git may convert again what has not changed
			return &Unsupported{Reason: ReasonAttributes, Path: c.path}
		case c.info.kind == kindOther:
			return &Unsupported{Reason: ReasonKind, Path: c.path}
		case c.was == nil && l.o.Refused(c.path), c.info.kind == kindLink && suspicious(path.Base(c.path)):
			return &Unsupported{Reason: ReasonName, Path: c.path}
		case c.info.size > l.o.MaxFile, total > l.o.MaxBytes:
			return &Unsupported{Reason: ReasonLimit, Path: c.path}
		}
	}
	return nil
}

// suspicious reports whether some file system may take a name for that of a file that git
// reads, such as .gitmodules, which must not be a symbolic link.
func suspicious(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "git") || strings.HasPrefix(name, "gi") ||
		strings.ContainsFunc(name, func(r rune) bool { return r > '~' || r == '~' || r == '\\' || r == ':' })
}

// take changes the index.
func (l *look) take(ctx context.Context, store Store) error {
	converts := false
	for _, a := range l.attributes {
		converts = converts || a.effect == effectText
	}
	kept := map[string]file{}
	for _, c := range append(l.files[:len(l.files):len(l.files)], l.unknown...) {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := l.read(c, converts, store)
		switch {
		case err != nil:
			return err
		case c.was != nil && c.was.hash == f.hash && c.was.mode == f.mode: // its tree is as it was
			f.name = c.was.name
			*c.was = f
		default:
			kept[c.path] = f
		}
	}
	for _, at := range l.gone {
		l.x.remove(l.o, at)
	}
	for at, f := range kept {
		l.x.put(l.o, at, f)
	}
	return nil
}

// relists reports whether the index has gained or lost paths, but for what is apart.
func (l *look) relists() bool {
	isOurs := func(at string) bool { _, apart := cutFolder(at, l.o.Apart); return !apart }
	return slices.ContainsFunc(l.gone, isOurs) || slices.ContainsFunc(l.unknown, func(c candidate) bool { return isOurs(c.path) })
}

// read reads a file and stores its content.
func (l *look) read(c candidate, converts bool, store Store) (file, error) {
	content, in, err := l.top.content(c.path, l.o.MaxFile)
	if err != nil {
		return file{}, unreadable(c.path, err)
	}
	if converts && in.kind == kindFile && bytes.IndexByte(content, '\r') >= 0 {
		return file{}, &Unsupported{Reason: ReasonAttributes, Path: c.path}
	}
	object, err := git.NewObject("blob", content)
	if err != nil {
		return file{}, &Unsupported{Reason: ReasonCollision, Path: c.path, Err: err}
	}
	f := file{mode: in.mode(), hash: parse(object.Hash), stat: in.stat, racy: !in.stat.settled(l.began)}
	if c.was == nil || c.was.hash != f.hash {
		err = store.Put(object)
	}
	return f, err
}
