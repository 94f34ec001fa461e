package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"pawl"
)

// A vendored file is compared with what describes it, not run: the base's copy would not fit code
// that was written for another version. Cargo keeps the hash of each file and of the package; for
// others the lock has to name the package with another version than before.

// vendored looks at changed copies of other projects.
func (s *Survey) vendored() {
	packages := map[string][]*pawl.FileChange{}
	for i := range s.c.Files {
		f := &s.c.Files[i]
		if !s.has(f.Path, pawl.ClassVendored) || path.Base(f.Path) == cargoChecksums || s.isList(f) {
			continue
		}
		name := s.packageOf(f.Path)
		packages[name] = append(packages[name], f)
	}
	for _, name := range sortedKeys(packages) {
		files := packages[name]
		if wrong, known := s.cargo(name, files); known {
			for _, f := range wrong {
				s.raise(pawl.Finding{Kind: pawl.FindVendored, Path: f.Path, Text: "its hash is not the one that " + cargoChecksums + " and Cargo.lock have", Detail: diff(f)})
			}
			continue
		}
		if s.locked(name) || isPnP(files) && len(s.touched(func(f *pawl.FileChange) bool { return path.Base(f.Path) == "yarn.lock" }, pawl.ClassDependency)) > 0 {
			s.remark("%s of %s changed together with its entry in the lock", counted(len(files), "vendored file"), name)
			continue
		}
		for _, f := range files {
			s.raise(pawl.Finding{Kind: pawl.FindVendored, Path: f.Path, Text: "the copy of another project changed, and its version in the lock did not", Detail: diff(f)})
		}
	}
}

// isPnP reports whether files say where Yarn's packages are.
func isPnP(files []*pawl.FileChange) bool {
	return !slices.ContainsFunc(files, func(f *pawl.FileChange) bool { return !strings.HasPrefix(path.Base(f.Path), ".pnp.") })
}

// isList reports whether a file of a vendor folder lists what is in it.
func (s *Survey) isList(f *pawl.FileChange) bool {
	base := path.Base(f.Path)
	return base == "modules.txt" || slices.Contains(vendorFolders, path.Base(path.Dir(f.Path))) && slices.Contains([]string{".txt", ".lock", ".json", ".toml", ".yaml"}, path.Ext(base))
}

// vendorFolders are the folders below which each package has one of its own.
var vendorFolders = []string{"vendor", "node_modules", "_vendor", "third_party", "vendored", "Pods", "deps", "extern", "external"}

// packageOf returns the folder of the package that a vendored file belongs to.
func (s *Survey) packageOf(name string) string {
	parts := strings.Split(name, "/")
	i := len(parts) - 2
	for ; i >= 0 && !slices.Contains(vendorFolders, parts[i]); i-- {
	}
	if i < 0 {
		return path.Dir(name)
	}
	folder := strings.Join(parts[:i+1], "/")
	rest := parts[i+1:]
	if modules := s.read(path.Join(folder, "modules.txt")); modules != nil {
		if m := goModule(modules, strings.Join(rest[:len(rest)-1], "/")); m != "" {
			return path.Join(folder, m)
		}
	}
	n := 1
	if len(rest) > 2 && (strings.HasPrefix(rest[0], "@") || parts[i] == "vendor" && s.read(path.Join(folder, "composer")) != nil) {
		n = 2
	}
	return path.Join(folder, strings.Join(rest[:min(n, len(rest))], "/"))
}

// read returns a file as the candidate has it, else as the base had it.
func (s *Survey) read(name string) []byte {
	if data := s.c.Read(name, false); data != nil {
		return data
	}
	return s.c.Read(name, true)
}

// goModule returns the module of vendor/modules.txt that a package is in.
func goModule(modules []byte, pkg string) string {
	found := ""
	for line := range strings.Lines(string(modules)) {
		rest, ok := strings.CutPrefix(line, "# ")
		if name, _, _ := strings.Cut(rest, " "); ok && len(name) > len(found) && (pkg == name || strings.HasPrefix(pkg, name+"/")) {
			found = name
		}
	}
	return found
}

// cargoChecksums is the file in which cargo vendor keeps the hashes of a package.
const cargoChecksums = ".cargo-checksum.json"

// cargo returns the files of a package that are not those that cargo's hashes describe. It reports
// false for a package without hashes.
func (s *Survey) cargo(name string, files []*pawl.FileChange) (wrong []*pawl.FileChange, known bool) {
	data := s.c.Read(path.Join(name, cargoChecksums), false)
	if data == nil {
		data = s.c.Read(path.Join(name, cargoChecksums), true)
		if data == nil {
			return nil, false
		}
	}
	var sums struct {
		Files   map[string]string `json:"files"`
		Package string            `json:"package"`
	}
	if json.Unmarshal(data, &sums) != nil {
		return files, true
	}
	if lock := s.lockFor(name, "Cargo.lock"); sums.Package != "" && lock != nil && !strings.Contains(string(lock), sums.Package) {
		return files, true
	}
	changed := string(s.c.Read(path.Join(name, cargoChecksums), true)) != string(data)
	if changed && !s.locked(name) { // the hashes were changed with the files, and the lock was not
		return files, true
	}
	for _, f := range files {
		sum := sha256.Sum256(f.New.Data)
		if !f.New.Exists() || sums.Files[strings.TrimPrefix(f.Path, name+"/")] != hex.EncodeToString(sum[:]) {
			wrong = append(wrong, f)
		}
	}
	return wrong, true
}

// lockFor returns the candidate's lock file of this name in the package's folder or the nearest one
// above.
func (s *Survey) lockFor(name, lock string) []byte {
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		if data := s.c.Read(path.Join(dir, lock), false); data != nil || dir == "." {
			return data
		}
	}
}

// locked reports whether a lock or manifest that changed names the package on a line that changed.
func (s *Survey) locked(name string) bool {
	base := path.Base(name)
	if i := slices.IndexFunc(vendorFolders, func(v string) bool { return strings.Contains("/"+name, "/"+v+"/") }); i >= 0 {
		_, base, _ = strings.Cut("/"+name, "/"+vendorFolders[i]+"/")
	}
	for i := range s.c.Files {
		f := &s.c.Files[i]
		listed := slices.Contains(vendorFolders, path.Base(path.Dir(f.Path))) // such as vendor/vendor.txt
		if !listed && !s.has(f.Path, pawl.ClassDependency) {
			continue
		}
		if namesIn(f.New.Data, f.Old.Data, base) {
			return true
		}
	}
	return false
}

// namesIn reports whether a text has a paragraph or line with the name that the other text has not.
func namesIn(text, other []byte, name string) bool {
	had := map[string]bool{}
	for _, block := range blocks(string(other)) {
		had[block] = true
	}
	return slices.ContainsFunc(blocks(string(text)), func(b string) bool { return !had[b] && mentions(b, name) })
}

// blocks returns the lines of a lock file, and the entries that span several.
func blocks(text string) []string {
	out := strings.Split(text, "\n")
	out = append(out, strings.Split(text, "\n\n")...)     // TOML
	return append(out, strings.Split(text, "\n    }")...) // JSON of npm
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
