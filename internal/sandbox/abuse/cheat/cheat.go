// Package cheat is a suite of what an agent may leave in its room to make a gate
// pass without mending anything: in its home, its caches, its temporary folder, its
// worktree's ignored files, or in processes that wait. It is for tests; nothing in
// production imports it.
//
// Each [Ecosystem] is a small project whose gate fails, with a list of cheats. A cheat is
// a real one: run in the gate's own room just before the gate, it makes the gate pass.
// The tests that use this package show both halves.
package cheat

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Ecosystem is a project with a failing gate and ways to cheat it.
type Ecosystem struct {
	Name string
	// Needs is a shell line that succeeds in a room where the project's tools are.
	Needs string
	// Files are the repository, by name.
	Files map[string]string
	// Gate is the shell line of the gate. It keeps what it fetches and compiles in
	// the room's caches, as the real tools do by default.
	Gate string
	// Says is what the gate prints when it fails for the right reason.
	Says string
	// Mend is a shell line that mends the project, after which the gate passes.
	Mend   string
	Cheats []Cheat
}

// Cheat is one way to make the gate pass. Shell runs in the work tree.
type Cheat struct {
	Name  string
	Shell string
}

// Ecosystems are all of them.
func Ecosystems() []Ecosystem {
	return []Ecosystem{golang(), python(), npm(), cargo(), leftovers()}
}

// must returns a value that this package's own constants determine.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// zipped is a zip archive of files.
func zipped(files map[string]string) string {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := must(w.Create(name))
		must(f.Write([]byte(files[name])))
	}
	must(0, w.Close())
	return out.String()
}

// tarred is a gzip-compressed tar archive of files.
func tarred(files map[string]string) string {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		must(0, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}))
		must(w.Write([]byte(files[name])))
	}
	must(0, w.Close())
	must(0, z.Close())
	return out.String()
}

// goHash is the hash that go.sum has of files.
func goHash(files map[string]string) string {
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&lines, "%s  %s\n", hexSum(files[name]), name)
	}
	sum := sha256.Sum256([]byte(lines.String()))
	return "h1:" + base64.StdEncoding.EncodeToString(sum[:])
}

func hexSum(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}
