package main

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// module is one that a program is linked with on at least one platform.
type module struct {
	path, version string
	dir           string   // its root in the module cache; empty for what has its licence in own
	packages      []string // the folders of its packages that are linked
}

// text is a licence or a notice, and the modules that come with it.
type text struct {
	words    string
	licences []string
	of       []string // PATH VERSION, FILE
}

// goLicence is the licence of the standard library and the runtime. It is embedded
// because some distributions install Go without it.
//
//go:embed go-licence.txt
var goLicence string

// gitleaksLicence is the licence of the rules that are embedded in internal/secret: no module that is linked has them.
//
//go:embed gitleaks-licence.txt
var gitleaksLicence string

// own are the licences of what comes from no module.
var own = map[string]string{"Go": goLicence, rulesOf: gitleaksLicence}

// rulesOf is where the rules of internal/secret come from.
const rulesOf = "github.com/zricethezav/gitleaks/v8"

var allowed = []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", patents}

// patents is the name of the grant of patents that comes with modules of the Go project.
const patents = "GooglePatentsFile"

// reviewed has the licences of texts that the scanner does not recognise as a whole, by
// the SHA-256 of the text. A person has read them; a text that changes is read again.
var reviewed = map[string][]string{
	"af679003d933f045393a6a029f43da113f9ae364eac651d9ae268392985580f5": {"Apache-2.0", "MIT"},                   // modelcontextprotocol/go-sdk LICENSE; its CC-BY-4.0 is of documentation, which is not linked
	"324926617f47a0cabd01eb385ae3bb7f7007b1ff0d3314461521f78c91dcac4a": {"Apache-2.0", "MIT"},                   // go.yaml.in/yaml/v4 LICENSE
	"f597097efe3d97021f89170746bd3a0fb9a8b6fb26b82043ed68a4e0283bee6c": {"BSD-2-Clause", "BSD-3-Clause", "MIT"}, // modernc.org/libc LICENSE-3RD-PARTY.md
	"8438c9c89b849131ead81d5435cb97fcf052df5b0b286dda8a2d4c29e6cb3fd0": {"public domain"},                       // modernc.org/sqlite LICENSE-SQLITE
}

// leftOut are files that are called licences and concern nothing that is linked.
var leftOut = map[string]string{
	"modernc.org/memory LICENSE-LOGO":         "where a picture comes from that only its README shows",
	"modernc.org/sqlite LICENSE-3RD-PARTY.md": "all that it calls linked is listed as a module of its own or in another file of this one",
	"modernc.org/sqlite LICENSE-SQLITE_VEC":   "of a package that is not linked",
}

// leastCovered is how much of a text the scanner must recognise, in percent.
const leastCovered = 90

var licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|patents)`)

// linked returns the modules that the programs are linked with on the platforms, sorted
// by path, and Go itself first.
func linked(ctx context.Context, platforms []string) ([]module, error) {
	byPath := map[string]*module{}
	for _, p := range platforms {
		goos, goarch, ok := strings.Cut(p, "/")
		if !ok {
			return nil, fmt.Errorf("%q is not a platform: want OS/ARCH, such as linux/amd64", p)
		}
		cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-json=Dir,Module"}, programs...)...)
		cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("list the packages for %s: %w", p, err)
		}
		if err := add(byPath, strings.NewReader(string(out))); err != nil {
			return nil, fmt.Errorf("list the packages for %s: %w", p, err)
		}
	}
	byPath[rulesOf] = &module{path: rulesOf, version: "v8.30.1, rules alone"}
	modules := []module{{path: "Go", version: "standard library and runtime"}}
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		m := byPath[path]
		slices.Sort(m.packages)
		m.packages = slices.Compact(m.packages)
		modules = append(modules, *m)
	}
	return modules, nil
}

// add adds the modules of a list that the go command printed.
func add(byPath map[string]*module, list io.Reader) error {
	for dec := json.NewDecoder(list); ; {
		var p struct {
			Dir    string
			Module *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		m := byPath[p.Module.Path]
		if m == nil {
			m = &module{path: p.Module.Path, version: p.Module.Version, dir: p.Module.Dir}
			byPath[m.path] = m
		}
		m.packages = append(m.packages, p.Dir)
	}
}

// read returns the licences and notices of the modules, each text once, in the order of
// the first module that comes with it.
func read(modules []module) ([]*text, error) {
	var all []*text
	var problems []error
	known := map[string]*text{}
	for _, m := range modules {
		files, err := m.files()
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			problems = append(problems, fmt.Errorf("%s %s has no licence", m.path, m.version))
		}
		for _, f := range files {
			t := known[f.words]
			if t == nil {
				licences, err := classify(f.words)
				if err != nil {
					problems = append(problems, fmt.Errorf("%s %s, %s: %w", m.path, m.version, f.name, err))
				}
				t = &text{words: f.words, licences: licences}
				known[f.words] = t
				all = append(all, t)
			}
			t.of = append(t.of, m.path+" "+m.version+", "+f.name)
		}
	}
	return all, errors.Join(problems...)
}

type file struct{ name, words string }

// files returns the licences and notices at the module's root, in the folders of its
// linked packages and in all folders between.
func (m *module) files() ([]file, error) {
	if m.dir == "" {
		return []file{{"LICENSE", own[m.path]}}, nil
	}
	dirs := map[string]bool{m.dir: true}
	for _, dir := range m.packages {
		for ; len(dir) > len(m.dir); dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	var files []file
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			name, err := filepath.Rel(m.dir, filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			name = filepath.ToSlash(name)
			if e.IsDir() || !licenceFile.MatchString(e.Name()) || filepath.Ext(name) == ".go" || leftOut[m.path+" "+name] != "" {
				continue
			}
			words, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			files = append(files, file{name, strings.TrimSpace(strings.ReplaceAll(string(words), "\r\n", "\n")) + "\n"})
		}
	}
	return files, nil
}

// classify returns the licences in a text. It returns an error if one of them is not
// allowed or if part of the text is not recognised.
func classify(words string) ([]string, error) {
	sum := sha256.Sum256([]byte(words))
	hash := hex.EncodeToString(sum[:])
	if licences := reviewed[hash]; licences != nil {
		return licences, nil
	}
	found := licensecheck.Scan([]byte(words))
	names := map[string]bool{}
	for _, m := range found.Match {
		names[m.ID] = true
	}
	licences := slices.Sorted(maps.Keys(names))
	for _, l := range licences {
		if !slices.Contains(allowed, l) {
			return licences, fmt.Errorf("the licence %s is not allowed: want one of %s", l, strings.Join(allowed, ", "))
		}
	}
	if found.Percent < leastCovered {
		return licences, fmt.Errorf("only %.0f %% of it is recognised as %s: read it, and add %s to reviewed in tools/notices if it is allowed", found.Percent, list(licences), hash)
	}
	return licences, nil
}
