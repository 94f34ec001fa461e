package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// registry is a stand-in for the registry of an ecosystem, on the loopback device. It has two
// packages, greet and part, in version 1.0.0.
type registry struct {
	host string // with the port; clients know the name alone, see rule
	rule string // for egress

	mu    sync.Mutex
	files map[string]string
	asked []string
}

// newRegistry starts a registry under a name that only the egress proxy can resolve. Fill
// returns its files by their paths.
func newRegistry(t *testing.T, name string, fill func(base string) map[string]string) *registry {
	t.Helper()
	r := &registry{}
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	r.host = fmt.Sprintf("%s:%d", name, s.Listener.Addr().(*net.TCPAddr).Port)
	r.rule = r.host + "=127.0.0.1"
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = fill(r.base())
	return r
}

func (r *registry) base() string { return "http://" + r.host }

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.asked = append(r.asked, req.Method+" "+req.URL.Path)
	content, found := r.files[req.URL.Path]
	r.mu.Unlock()
	switch {
	case !found:
		http.NotFound(w, req)
		return
	case strings.HasPrefix(req.URL.Path, "/simple/"):
		w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
	}
	_, _ = w.Write([]byte(content)) // a client that went away is the test's business
}

// requests returns what was asked since the last call.
func (r *registry) requests() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := r.asked
	r.asked = nil
	return asked
}

// npmRegistry speaks npm's protocol. The package greet has a test runner, greets.
func npmRegistry(t *testing.T) *registry {
	return newRegistry(t, "npm.test", func(base string) map[string]string {
		files := map[string]string{}
		for _, name := range []string{"greet", "part"} {
			files["/"+name] = fmt.Sprintf(`{"name":%[1]q,"dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":%[1]q,"version":"1.0.0",%[4]s"dist":{"tarball":"%[2]s/%[1]s/-/%[1]s-1.0.0.tgz","integrity":%[3]q}}}}`,
				name, base, npmIntegrity(name), npmBin(name))
			files["/"+name+"/-/"+name+"-1.0.0.tgz"] = npmPackage(name)
		}
		return files
	})
}

func npmBin(name string) string {
	if name == "greet" {
		return `"bin":{"greets":"greets.js"},`
	}
	return ""
}

func npmPackage(name string) string {
	files := map[string]string{
		"package/package.json": fmt.Sprintf(`{"name":%q,"version":"1.0.0",%s"main":"index.js"}`, name, npmBin(name)),
		"package/index.js":     fmt.Sprintf("module.exports = %q\n", "hello from "+name),
	}
	if name == "greet" {
		files["package/greets.js"] = "#!/usr/bin/env node\nrequire(process.cwd() + '/test.js')\nconsole.log('ok 1 ' + require('.'))\n"
	}
	return tarball(files)
}

func npmIntegrity(name string) string {
	sum := sha512.Sum512([]byte(npmPackage(name)))
	return "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
}

// npmLock is the lock file of a package that needs greet.
func npmLock(r *registry) string {
	return fmt.Sprintf(`{"name":"shop","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{"name":"shop","version":"1.0.0","dependencies":{"greet":"1.0.0"}},`+
		`"node_modules/greet":{"version":"1.0.0","resolved":"%s/greet/-/greet-1.0.0.tgz","integrity":%q,"bin":{"greets":"greets.js"}}}}`+"\n", r.base(), npmIntegrity("greet"))
}

// pypiRegistry speaks PyPI's simple API. It has the packages greet and part, and more wheels
// by the names of their packages.
func pypiRegistry(t *testing.T, more map[string]string) *registry {
	wheels := map[string]string{"greet": pythonWheel("greet"), "part": pythonWheel("part")}
	maps.Copy(wheels, more)
	return newRegistry(t, "pypi.test", func(base string) map[string]string {
		files := map[string]string{}
		for name, packed := range wheels {
			file := name + "-1.0.0-py3-none-any.whl"
			files["/simple/"+name+"/"] = fmt.Sprintf(`{"meta":{"api-version":"1.0"},"name":%q,"files":[{"filename":%q,"url":"%s/files/%s","hashes":{"sha256":%q}}]}`,
				name, file, base, file, sha256Hex(packed))
			files["/files/"+file] = packed
		}
		return files
	})
}

func pythonWheel(name string) string {
	return wheel(name, map[string]string{name + ".py": fmt.Sprintf("hello = %q\n", "hello from "+name)})
}

// wheel packs version 1.0.0 of a Python package.
func wheel(name string, files map[string]string) string {
	info := name + "-1.0.0.dist-info/"
	files[info+"METADATA"] = "Metadata-Version: 2.1\nName: " + name + "\nVersion: 1.0.0\n"
	files[info+"WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
	files[info+"RECORD"] = strings.Join(slices.Sorted(maps.Keys(files)), ",,\n") + ",,\n" + info + "RECORD,,\n"
	return zipped(files)
}

// pytestWheel packs the distribution's pytest with all that it needs.
func pytestWheel(t *testing.T) string {
	const distribution = "/usr/lib/python3/dist-packages"
	root := os.DirFS(distribution)
	files := map[string]string{}
	for _, name := range []string{"pytest", "_pytest", "pluggy", "iniconfig", "packaging", "attr", "attrs", "py"} {
		err := fs.WalkDir(root, name, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || filepath.Ext(path) != ".py" {
				return err
			}
			text, err := fs.ReadFile(root, path)
			files[path] = string(text)
			return err
		})
		if err != nil {
			t.Skipf("the distribution's pytest is not installed: %v", err)
		}
	}
	return wheel("pytest", files)
}

// goRegistry speaks the protocol of Go's module proxies.
func goRegistry(t *testing.T) *registry {
	return newRegistry(t, "go.test", func(string) map[string]string {
		files := map[string]string{}
		for _, name := range []string{"greet", "part"} {
			at := "/mod.test/" + name + "/@v/"
			files[at+"list"] = "v1.0.0\n"
			files[at+"v1.0.0.info"] = `{"Version":"v1.0.0"}`
			files[at+"v1.0.0.mod"] = goModule(name)["go.mod"]
			packed := map[string]string{}
			for file, text := range goModule(name) {
				packed["mod.test/"+name+"@v1.0.0/"+file] = text
			}
			files[at+"v1.0.0.zip"] = zipped(packed)
		}
		return files
	})
}

func goModule(name string) map[string]string {
	return map[string]string{
		"go.mod":     "module mod.test/" + name + "\n\ngo 1.21\n",
		name + ".go": fmt.Sprintf("package %s\n\nconst Hello = %q\n", name, "hello from "+name),
	}
}

// goSum is the go.sum of a module that needs greet.
func goSum() string {
	packed := map[string]string{}
	for file, text := range goModule("greet") {
		packed["mod.test/greet@v1.0.0/"+file] = text
	}
	hash := func(files map[string]string) string {
		all := sha256.New()
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(all, "%s  %s\n", sha256Hex(files[name]), name)
		}
		return "h1:" + base64.StdEncoding.EncodeToString(all.Sum(nil))
	}
	return "mod.test/greet v1.0.0 " + hash(packed) + "\nmod.test/greet v1.0.0/go.mod " +
		hash(map[string]string{"go.mod": goModule("greet")["go.mod"]}) + "\n"
}

// cargoRegistry speaks cargo's sparse protocol.
func cargoRegistry(t *testing.T) *registry {
	return newRegistry(t, "crates.test", func(base string) map[string]string {
		files := map[string]string{"/index/config.json": fmt.Sprintf(`{"dl":"%s/crates/{crate}-{version}.crate"}`, base)}
		for name, at := range map[string]string{"greet": "gr/ee/", "part": "pa/rt/"} {
			files["/index/"+at+name] = fmt.Sprintf(`{"name":%q,"vers":"1.0.0","deps":[],"cksum":%q,"features":{},"yanked":false}`+"\n", name, sha256Hex(crate(name)))
			files["/crates/"+name+"-1.0.0.crate"] = crate(name)
		}
		return files
	})
}

func crate(name string) string {
	return tarball(map[string]string{
		name + "-1.0.0/Cargo.toml": fmt.Sprintf("[package]\nname = %q\nversion = \"1.0.0\"\nedition = \"2021\"\n", name),
		name + "-1.0.0/src/lib.rs": fmt.Sprintf("pub const HELLO: &str = %q;\n", "hello from "+name),
	})
}

// cargoLock is the Cargo.lock of a package that needs greet.
func cargoLock() string {
	return fmt.Sprintf("version = 3\n\n[[package]]\nname = \"greet\"\nversion = \"1.0.0\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = %q\n\n"+
		"[[package]]\nname = \"shop\"\nversion = \"0.1.0\"\ndependencies = [\n \"greet\",\n]\n", sha256Hex(crate("greet")))
}

func sha256Hex(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// tarball packs files as npm and cargo want them. Its bytes follow from the files.
func tarball(files map[string]string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_ = w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(files[name]))}) // to memory
		_, _ = w.Write([]byte(files[name]))
	}
	_, _ = w.Close(), z.Close()
	return b.String()
}

// zipped packs files as Python and Go want them.
func zipped(files map[string]string) string {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if w, err := z.Create(name); err == nil { // to memory
			_, _ = w.Write([]byte(files[name]))
		}
	}
	_ = z.Close()
	return b.String()
}
