package ecosystem

import (
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// notLookedAt are folders that hold other people's code, or code that is not
// meant to pass, beside those whose names begin with a dot.
var notLookedAt = []string{"node_modules", "vendor", "third_party", "testdata", "example", "examples", "fixture", "fixtures",
	"__fixtures__", "__pycache__", "site-packages", "venv", "env", "target", "dist", "build", "out"}

// look finds the ecosystems of a repository, the root's first, then those of the
// folders below it in the order of their paths. A language is not looked for
// below a folder that has it: workspaces are the business of the folder they are
// declared in.
func look(dir fs.FS) (found []located, notes []string) {
	type place struct {
		folder
		languages []string // of the folders above
	}
	looked, parts := 0, 0
	level := []place{{folder: folder{dir, Root}}}
	for depth := 0; len(level) > 0; depth++ {
		var next []place
		for _, at := range level {
			if at.path != Root {
				if looked++; looked > maxFolders {
					return found, append(notes, fmt.Sprintf("only the first %d folders were looked at; name the gates of others yourself", maxFolders))
				}
			}
			for _, e := range ecosystems() {
				if slices.Contains(at.languages, e.language) || !e.is(at.folder) {
					continue
				}
				if at.path != Root {
					if parts++; parts > maxParts {
						return found, append(notes, fmt.Sprintf("only the first %d folders with a manifest are listed; name the gates of others yourself", maxParts))
					}
				}
				at.languages = append(slices.Clone(at.languages), e.language)
				found = append(found, located{e, at.folder})
			}
			if depth == maxDepth {
				continue
			}
			for _, name := range at.folders() {
				sub, err := fs.Sub(at.dir, name)
				if err != nil {
					continue
				}
				next = append(next, place{folder{sub, path.Join(at.path, name)}, at.languages})
			}
		}
		level = next
	}
	return found, notes
}

// folder is a folder that is only looked at.
type folder struct {
	dir  fs.FS
	path string // from the root; [Root] for the root itself
}

// command returns a shell line that runs a command in the folder.
func (f folder) command(line string) string {
	if f.path == Root {
		return line
	}
	if strings.ContainsAny(line, ";\n") || strings.Contains(line, "||") {
		line = "{ " + line + "; }" // cd that fails must end the whole of it
	}
	return "cd " + shellWord(f.path) + " && " + line
}

// shellWord writes a path as one word of a shell line.
func shellWord(path string) string {
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+@"
	if strings.Trim(path, plain) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// has reports whether one of the regular files is there.
func (f folder) has(names ...string) bool {
	for _, name := range names {
		if info, err := fs.Stat(f.dir, name); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

func (f folder) hasFolder(name string) bool {
	info, err := fs.Stat(f.dir, name)
	return err == nil && info.IsDir()
}

// text returns the beginning of a regular file; empty when it does not exist or cannot be
// read.
func (f folder) text(name string) string {
	if !f.has(name) {
		return ""
	}
	file, err := f.dir.Open(name)
	if err != nil {
		return ""
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFile))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(string(data), "\ufeff")
}

// any reports whether a regular file of a folder has a name that matches one of
// the patterns.
func (f folder) any(name string, patterns ...string) bool {
	return slices.ContainsFunc(f.entries(name), func(e fs.DirEntry) bool {
		return e.Type().IsRegular() && slices.ContainsFunc(patterns, func(p string) bool {
			matched, err := path.Match(p, e.Name())
			return err == nil && matched
		})
	})
}

// folders returns the names of the subfolders that are looked at, sorted.
func (f folder) folders() []string {
	var names []string
	for _, e := range f.entries(".") {
		name := e.Name()
		if e.IsDir() && !strings.HasPrefix(name, ".") && !slices.Contains(notLookedAt, name) &&
			!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\ufffd' }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// entries returns the first entries of a folder.
func (f folder) entries(name string) []fs.DirEntry {
	d, err := f.dir.Open(name)
	if err != nil {
		return nil
	}
	defer d.Close()
	list, ok := d.(fs.ReadDirFile)
	if !ok {
		return nil
	}
	entries, err := list.ReadDir(maxEntries)
	if err != nil {
		return nil
	}
	return entries
}

// section reports whether a TOML or INI file has a table of this name, or one
// below it.
func section(text, name string) bool {
	return regexp.MustCompile(`(?m)^\s*\[+\s*` + regexp.QuoteMeta(name) + `\s*[.\]]`).MatchString(text)
}

// word reports whether a text has this name of a package as a word of its own.
func word(text, name string) bool {
	return regexp.MustCompile(`(?m)(?:^|[\s"'\[,(:])` + regexp.QuoteMeta(name) + `(?:$|[\s"'\],);=<>~!\[])`).MatchString(text)
}
