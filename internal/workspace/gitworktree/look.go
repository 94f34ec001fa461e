package gitworktree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sync/errgroup"

	"pawl"
	"pawl/internal/git"
	"pawl/internal/pattern"
)

const (
	// maxOmitted bounds how many paths a recording leaves out one by one. When there are
	// more, it takes nothing up and stays what it was.
	maxOmitted = 1000
	// maxBlamed bounds how many files are left out because git could not store them.
	maxBlamed = 20
	// maxListed is how many new files beyond the limit are counted, to say where they are.
	maxListed = 200_000
)

// omission is a path that a recording leaves out.
type omission struct {
	limit pawl.LimitName
	files int    // at or below the path
	why   string // continues a sentence about the path
}

// sight is what is seen of a worktree before it is recorded, without reading a file.
type sight struct {
	nested  []string // .git files and folders of nested repositories
	omitted map[string]omission
	// known reports that there are too many new files to take any up; none that nothing
	// can be taken up.
	known, none bool
}

// omit leaves a path out.
func (s *sight) omit(name string, limit pawl.LimitName, why string) {
	o := s.omitted[name]
	s.omitted[name] = omission{limit, o.files + 1, why}
}

// candidate is a file that may have to be recorded.
type candidate struct {
	path  string
	isNew bool // the index does not have it
	size  int64
}

// look finds what a recording into an index must leave out. fresh reports that the
// index knows nothing of the files yet, so that all of them seem to have changed.
func (w *worktree) look(ctx context.Context, repo git.Repo, fresh bool, except []string) (sight, error) {
	s := sight{omitted: map[string]omission{}}
	files, err := w.list(ctx, repo, &s, except)
	if err == nil {
		err = w.omitMany(ctx, repo, &s, files)
	}
	if err != nil {
		return sight{}, err
	}
	files = w.measure(&s, files)
	if files, err = w.omitLarge(ctx, repo, &s, files); err != nil {
		return sight{}, err
	}
	if !fresh {
		w.omitMuch(&s, files)
	}
	s.none = s.none || len(s.omitted) > maxOmitted
	return s, nil
}

// list lists the files that may have to be recorded, and nested repositories.
func (w *worktree) list(ctx context.Context, repo git.Repo, s *sight, except []string) ([]candidate, error) {
	var touched, unrecorded []string
	var group errgroup.Group
	group.Go(func() (err error) {
		touched, err = repo.Touched(ctx, except...)
		return err
	})
	group.Go(func() (err error) {
		unrecorded, err = repo.Unrecorded(ctx, w.limits.MaxNewFiles+maxListed, except...)
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var files []candidate
	for _, name := range unrecorded {
		folder, isFolder := strings.CutSuffix(name, "/")
		if at := filepath.Join(w.files, folder, ".git"); !isFolder {
			files = append(files, candidate{path: name, isNew: true})
		} else if exists(at) {
			s.nested = append(s.nested, at)
		}
	}
	for _, name := range touched {
		files = append(files, candidate{path: name})
	}
	return files, nil
}

// omitMany leaves all new files out when there are too many.
func (w *worktree) omitMany(ctx context.Context, repo git.Repo, s *sight, files []candidate) error {
	folders, count := map[string]int{}, 0
	for _, c := range files {
		if c.isNew {
			folder := "."
			if at := strings.IndexByte(c.path, '/'); at > 0 {
				folder = c.path[:at]
			}
			folders[folder]++
			count++
		}
	}
	if count == 0 || w.listed > 0 && w.listed+count <= w.limits.MaxNewFiles {
		return nil // those that the index has were not too many
	}
	if count <= w.limits.MaxNewFiles {
		added, err := repo.Added(ctx, w.at())
		if err != nil || added+count <= w.limits.MaxNewFiles {
			return err
		}
	}
	s.known = true
	byCount := func(a, b string) int { return cmp.Or(folders[b]-folders[a], cmp.Compare(a, b)) }
	for i, folder := range slices.SortedFunc(maps.Keys(folders), byCount) {
		if i == pawl.MaxLeftPaths {
			break
		}
		s.omitted[folder] = omission{pawl.LimitNewFiles, folders[folder], "has " + counted(folders[folder], "new file")}
		count -= folders[folder]
	}
	if count > 0 {
		o := s.omitted["."]
		s.omitted["."] = omission{pawl.LimitNewFiles, o.files + count, "has " + counted(o.files+count, "new file") + " here and elsewhere"}
	}
	return nil
}

// measure returns the candidates that are there, with their sizes, and without those
// whose names or kinds git refuses.
func (w *worktree) measure(s *sight, files []candidate) []candidate {
	folders := map[string]bool{".": true} // whether they are folders, and so is all above them
	var isFolder func(string) bool
	isFolder = func(name string) bool {
		known, ok := folders[name]
		if !ok {
			info, err := os.Lstat(filepath.Join(w.files, name))
			known = err == nil && info.IsDir() && isFolder(path.Dir(name))
			folders[name] = known
		}
		return known
	}
	var found []candidate
	for _, c := range files {
		if c.isNew && s.known {
			continue
		}
		if part := pawl.RefusedName(c.path); part != "" {
			s.omit(upTo(c.path, part), pawl.LimitGitName, refusedName)
			continue
		}
		if !isFolder(path.Dir(c.path)) { // for git, nothing is behind a link
			continue
		}
		info, err := os.Lstat(filepath.Join(w.files, c.path))
		switch {
		case err != nil || info.IsDir(): // it is gone
		case !info.Mode().IsRegular() && info.Mode().Type() != os.ModeSymlink:
			s.omit(c.path, pawl.LimitGitContent, "is neither a file nor a symbolic link")
		default:
			c.size = info.Size()
			found = append(found, c)
		}
	}
	return found
}

// upTo is a path up to the first of its parts that has a name.
func upTo(name, part string) string {
	parts := strings.Split(name, "/")
	return strings.Join(parts[:slices.Index(parts, part)+1], "/")
}

// omitLarge leaves out files that are too large, unless they were as large before.
func (w *worktree) omitLarge(ctx context.Context, repo git.Repo, s *sight, files []candidate) ([]candidate, error) {
	var large []string
	for _, c := range files {
		if c.size > w.limits.MaxFile && !c.isNew {
			large = append(large, c.path)
		}
	}
	var before map[string]int64
	if len(large) > 0 && len(large) <= maxOmitted {
		var err error
		if before, err = repo.Sizes(ctx, large); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(files, func(c candidate) bool {
		if c.size <= max(w.limits.MaxFile, before[c.path]) {
			return false
		}
		s.omit(c.path, pawl.LimitFile, fmt.Sprintf("has %s, more than the %s a file may have", pawl.Bytes(c.size), pawl.Bytes(w.limits.MaxFile)))
		return true
	}), nil
}

// omitMuch leaves everything out when there is too much of it, and names the largest
// files. It bounds how long git reads and writes.
func (w *worktree) omitMuch(s *sight, files []candidate) {
	var total int64
	for _, c := range files {
		total += c.size
	}
	if total <= w.limits.MaxNewBytes {
		return
	}
	s.none = true
	why := fmt.Sprintf("of %s in new and changed files, more than the %s allowed", pawl.Bytes(total), pawl.Bytes(w.limits.MaxNewBytes))
	slices.SortFunc(files, func(a, b candidate) int { return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.path, b.path)) })
	for i, c := range files {
		o := omission{pawl.LimitNewBytes, 1, fmt.Sprintf("has %s %s", pawl.Bytes(c.size), why)}
		if i == pawl.MaxLeftPaths {
			o = omission{pawl.LimitNewBytes, len(files) - i, "has the others"}
			c.path = "."
		}
		s.omitted[c.path] = o
		if c.path == "." {
			break
		}
	}
}

// takeUp brings an index up to the worktree's files, for a record which is told what
// is left out. Repositories that it finds in the worktree are moved aside.
func (w *worktree) takeUp(ctx context.Context, index string, r *record, fresh bool, except ...string) error {
	repo := w.recording(index)
	s, err := w.look(ctx, repo, fresh, except)
	for range nesting {
		if err != nil || len(s.nested) == 0 {
			break
		}
		if err = w.quarantine(ctx, s.nested); err == nil {
			s, err = w.look(ctx, repo, fresh, except)
		}
	}
	for blamed := 0; err == nil && !s.none; blamed++ {
		if err = w.addSeen(ctx, repo, s, except); err == nil {
			break
		}
		if ctx.Err() == nil && w.blame(&s, err) {
			err, s.none = nil, s.none || blamed == maxBlamed
		}
	}
	r.seen = append(r.seen, s)
	return err
}

// addSeen adds all but what is left out.
func (w *worktree) addSeen(ctx context.Context, repo git.Repo, s sight, except []string) error {
	for name, o := range s.omitted {
		if o.limit != pawl.LimitNewFiles {
			except = append(except, name)
		}
	}
	if s.known {
		return repo.AddKnown(ctx, except...)
	}
	return repo.AddAll(ctx, except...)
}

// blames are what git says of a file that it cannot add.
var blames = []struct {
	pattern *pattern.Pattern // its group is the path
	limit   pawl.LimitName
	why     string
}{
	{pattern.Of(`(?s)error: invalid path '(.*?)'\n`), pawl.LimitGitName, refusedName},
	{pattern.Of(`(?s)error: (.*?): can only add regular files`), pawl.LimitGitContent, "is neither a file nor a symbolic link"},
	{pattern.Of(`(?s)(?:fatal|error): failed to encode '(.*?)' from`), pawl.LimitGitContent, notEncoded},
	{pattern.Of(`(?s)(?:fatal|error): BOM is (?:required|prohibited) in '(.*?)' if encoded`), pawl.LimitGitContent, notEncoded},
	{pattern.Of(`(?s)(?:fatal|error): encoding '(.*?)' from .* and back is not the same`), pawl.LimitGitContent, notEncoded},
}

const (
	refusedName = "has a name that git refuses, as other systems take it for .git"
	notEncoded  = "is not encoded as working-tree-encoding in .gitattributes says"

	withoutEncoding = "has working-tree-encoding without the name of an encoding: no file can be recorded"
)

// blamed returns the file that git could not add, and why, if an error tells.
func blamed(err error) (name string, o omission, ok bool) {
	e, ok := errors.AsType[*git.Error](err)
	if !ok || e.Args[0] != "add" {
		return "", omission{}, false
	}
	for _, b := range blames {
		if m := b.pattern.FindStringSubmatch(e.Stderr + "\n"); m != nil {
			return m[1], omission{b.limit, 1, b.why}, true
		}
	}
	if strings.Contains(e.Stderr, "no valid working-tree-encodings") { // git does not say in which file
		return ".gitattributes", omission{pawl.LimitGitContent, 1, withoutEncoding}, true
	}
	return "", omission{}, false
}

// blame leaves out the file that git could not add, if an error tells which.
func (w *worktree) blame(s *sight, err error) bool {
	name, o, ok := blamed(err)
	_, before := s.omitted[name]
	if !ok || before || !filepath.IsLocal(name) || !exists(filepath.Join(w.files, name)) && o.why != withoutEncoding {
		return false
	}
	s.omitted[name] = o
	s.none = s.none || o.why == withoutEncoding
	return true
}

// leftOut sums up what recordings left out.
func (w *worktree) leftOut(sights []sight) []pawl.LeftOut {
	all := map[string]omission{}
	for _, s := range sights {
		maps.Copy(all, s.omitted)
	}
	var left []pawl.LeftOut
	for _, limit := range []pawl.LimitMet{
		{Limit: pawl.LimitGitName}, {Limit: pawl.LimitGitContent}, {Limit: pawl.LimitFile, Max: w.limits.MaxFile},
		{Limit: pawl.LimitNewFiles, Max: int64(w.limits.MaxNewFiles)}, {Limit: pawl.LimitNewBytes, Max: w.limits.MaxNewBytes},
	} {
		out := pawl.LeftOut{LimitMet: limit}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if o := all[name]; o.limit == limit.Limit {
				out.Files += o.files
				if len(out.Paths) < pawl.MaxLeftPaths {
					out.Paths = append(out.Paths, pawl.LeftPath{Path: name, Why: o.why})
				}
			}
		}
		if out.Files > 0 {
			left = append(left, out)
		}
	}
	return left
}

// clear moves out of the worktree what recordings left out, so that it is kept when the
// worktree's files are replaced. When that is not known path by path, everything goes.
func (w *worktree) clear(ctx context.Context, sights []sight) error {
	var names []string
	all := false
	for _, s := range sights {
		all = all || s.known || s.none
		names = slices.AppendSeq(names, maps.Keys(s.omitted))
	}
	if all {
		var err error
		if names, err = w.wrote("."); err != nil {
			return err
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == ".git" })
	}
	if len(names) == 0 {
		return nil
	}
	if err := os.MkdirAll(w.asides(), 0o700); err != nil {
		return err
	}
	to, err := os.MkdirTemp(w.asides(), key(w.name)+"-*")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(w.files) // it does not follow symbolic links out of the worktree
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range names {
		if err := w.moveTo(root, name, to); err != nil {
			return fmt.Errorf("move %s aside: %w", name, err)
		}
	}
	w.s.log.WarnContext(ctx, "moved files aside that cannot be recorded", "worktree", w.name, "paths", len(names), "to", w.public(to))
	return nil
}

// moveTo moves a file or folder of the worktree to its path below a folder, unless it is
// gone. Of a folder that has something below it in another layer, what was written moves.
func (w *worktree) moveTo(root *os.Root, name, folder string) error {
	if _, err := root.Lstat(name); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	to := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	from := filepath.Join(root.Name(), name)
	err := os.Rename(from, to)
	if errors.Is(err, os.ErrPermission) {
		openUp(from) // a folder must be writable to be moved
		_ = os.Chmod(filepath.Dir(from), 0o700)
		err = os.Rename(from, to)
	}
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	names, err := w.wrote(name)
	for _, inner := range names {
		if err == nil {
			err = w.moveTo(root, filepath.Join(name, inner), folder)
		}
	}
	return err
}

// counted is a number of things in words.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return grouped(int64(n)) + " " + thing
}

// grouped is a number with commas between its thousands.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
