package ecosystem

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// fileSet holds base names and patterns of base names.
type fileSet struct {
	names    map[string]bool // in small letters
	patterns []string
}

// versions are files that choose the version of a toolchain.
var versions = []string{".tool-versions", "mise.toml", ".mise.toml", ".nvmrc", ".node-version", ".python-version", ".ruby-version", ".java-version",
	"rust-toolchain", "rust-toolchain.toml", "global.json", ".sdkmanrc"}

// Runtimes returns the programs that dependencies are built for. Dependencies prepared with
// one version may not work with another.
func Runtimes() []string {
	return []string{"go", "node", "bun", "rustc", "python3", "java", "elixir", "ruby", "php", "dotnet"}
}

// inputs are the files that decide what the commands of prepare leave.
var inputs = sync.OnceValue(func() fileSet {
	f := fileSet{names: map[string]bool{}}
	f.add(versions)
	for _, e := range ecosystems() {
		f.add(e.manifests)
		f.add(e.locks)
		f.add(e.others)
	}
	return f
})

func (f *fileSet) add(names []string) {
	for _, name := range names {
		name = strings.ToLower(name)
		switch {
		case !strings.ContainsAny(name, "*?["):
			f.names[name] = true
		case !slices.Contains(f.patterns, name):
			f.patterns = append(f.patterns, name)
		}
	}
}

func (f fileSet) match(file string) bool {
	base := strings.ToLower(path.Base(file))
	if f.names[base] {
		return true
	}
	return slices.ContainsFunc(f.patterns, func(p string) bool {
		matched, err := path.Match(p, base)
		return err == nil && matched
	})
}
