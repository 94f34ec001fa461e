package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	bsd = "Redistribution and use in source and binary forms"
	// mpl is a licence that is not allowed.
	mpl = "This Source Code Form is subject to the terms of the Mozilla Public License, v. 2.0. If a copy of the MPL was not distributed with this file, You can obtain one at http://mozilla.org/MPL/2.0/."
)

// licenceText returns a licence that the scanner knows, from the repository's own
// files.
func licenceText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// newModule writes the files of a module into a folder and returns the module. Its linked
// package is in the folder a/b.
func newModule(t *testing.T, path string, files map[string]string) module {
	t.Helper()
	m := module{path: path, version: "v1.0.0", dir: t.TempDir()}
	m.packages = []string{filepath.Join(m.dir, "a", "b")}
	if err := os.MkdirAll(m.packages[0], 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		name = filepath.Join(m.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// F-48
func TestRead(t *testing.T) {
	mit := licenceText(t, "../../LICENSE")
	modules := []module{
		{path: "Go", version: "all of it"},
		newModule(t, "x.test/one", map[string]string{"LICENSE": mit, "license.go": "package one", "a/b/COPYING.txt": goLicence, "a/c/LICENSE": mpl}),
		newModule(t, "x.test/two", map[string]string{"Licence.md": strings.ReplaceAll(mit, "\n", "\r\n")}),
	}
	texts, err := read(modules)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, text := range texts {
		got[strings.Join(text.of, " ")] = strings.Join(text.licences, " ")
	}
	want := map[string]string{
		"Go all of it, LICENSE x.test/one v1.0.0, a/b/COPYING.txt": "BSD-3-Clause",
		"x.test/one v1.0.0, LICENSE x.test/two v1.0.0, Licence.md": "MIT",
	}
	for of, licences := range want {
		if got[of] != licences {
			t.Errorf("the licences of %s are %q, want %q", of, got[of], licences)
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %d texts, want %d: %q", len(got), len(want), got)
	}
	notices := render(modules, texts)
	for _, want := range []string{"  x.test/one  v1.0.0     BSD-3-Clause, MIT\n", "  x.test/two  v1.0.0     MIT\n", bsd} {
		if !strings.Contains(notices, want) {
			t.Errorf("the notices do not have %q:\n%s", want, notices)
		}
	}
	if strings.Count(notices, "Permission is hereby granted") != 1 {
		t.Errorf("one text is there several times:\n%s", notices)
	}
}

func TestReadRefuses(t *testing.T) {
	mit := licenceText(t, "../../LICENSE")
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"None":       {map[string]string{"README": mit}, "x.test/m v1.0.0 has no licence"},
		"Unknown":    {map[string]string{"LICENSE": "You may use this on Sundays."}, "x.test/m v1.0.0, LICENSE: only 0 % of it is recognised as nothing"},
		"InPart":     {map[string]string{"LICENSE": mit + strings.Repeat("You may use this on Sundays only, and never for money. ", 20)}, "recognised as MIT"},
		"NotAllowed": {map[string]string{"LICENSE": mit, "a/NOTICE": mpl}, "x.test/m v1.0.0, a/NOTICE: the licence MPL-2.0 is not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read([]module{newModule(t, "x.test/m", c.files)})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
		})
	}
}

// A module that is linked and not in the notices, one of another version, one that is
// not linked any more, and a text that differs are named. F-48
func TestCompare(t *testing.T) {
	one, two := module{path: "x.test/one", version: "v1.0.0"}, module{path: "x.test/two", version: "v1.0.0"}
	newer := module{path: "x.test/two", version: "v1.1.0"}
	texts := []*text{{words: "Use it.\n", licences: []string{"MIT"}, of: []string{"x.test/one v1.0.0, LICENSE", "x.test/two v1.0.0, LICENSE"}}}
	full := render([]module{one, two}, texts)
	if err := compare(full, full); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct{ got, want, says string }{
		"None":   {"", full, "it lacks x.test/one v1.0.0 MIT; it lacks x.test/two v1.0.0 MIT"},
		"Lacks":  {render([]module{one}, texts), full, "it lacks x.test/two v1.0.0 MIT"},
		"Newer":  {full, render([]module{one, newer}, texts), "it has x.test/two v1.0.0 MIT, which is not linked; it lacks x.test/two v1.1.0"},
		"Excess": {full, render([]module{one}, texts), "it has x.test/two v1.0.0 MIT, which is not linked"},
		"Text":   {strings.Replace(full, "Use it.", "Use it not.", 1), full, "the text of a licence has changed"},
	} {
		t.Run(name, func(t *testing.T) {
			err := compare(c.got, c.want)
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasSuffix(err.Error(), "; make notices writes it") {
				t.Errorf("the error is %v, want %q", err, c.says)
			}
		})
	}
}

// The go command lists a module once for each of its packages. Packages of the standard
// library and of the main module are of no module that needs a notice.
func TestAdd(t *testing.T) {
	type mod struct {
		Path, Version, Dir string
		Main               bool
	}
	var list strings.Builder
	for _, p := range []struct {
		Dir    string
		Module *mod `json:",omitempty"`
	}{
		{Dir: "/go/src/fmt"}, {"/pawl", &mod{"pawl", "", "/pawl", true}},
		{"/m/a", &mod{"x.test/m", "v1.0.0", "/m", false}}, {"/m/b", &mod{"x.test/m", "v1.0.0", "/m", false}},
	} {
		if err := json.NewEncoder(&list).Encode(p); err != nil {
			t.Fatal(err)
		}
	}
	all := map[string]*module{}
	if err := add(all, strings.NewReader(list.String())); err != nil {
		t.Fatal(err)
	}
	if m := all["x.test/m"]; len(all) != 1 || m == nil || m.version != "v1.0.0" || m.dir != "/m" || strings.Join(m.packages, " ") != "/m/a /m/b" {
		t.Errorf("the modules are %v", all)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range [][]string{nil, {"linux"}} {
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), "want OS/ARCH, such as linux/amd64") {
			t.Errorf("%q: the error is %v", args, err)
		}
	}
}
