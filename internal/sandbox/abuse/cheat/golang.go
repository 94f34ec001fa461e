package cheat

import "fmt"

// golang is a Go module with one dependency, fetched from a proxy in the repository.
// Its gate tests a copy of the work tree, as release scripts do.
func golang() Ecosystem {
	const (
		mod = "module example.com/dep\n\ngo 1.21\n"
		dep = "package dep\n\nfunc Value() int { return 4 }\n"
		at  = "example.com/dep@v1.0.0/"
		// build is the place and the settings of the gate.
		build = `export PATH="$HOME/go/bin:$PATH" GOMODCACHE="${GOCACHE%/*}/go-mod" GOPROXY="file://$PWD/proxy" GOFLAGS="$GOFLAGS -modcacherw"
rm -rf "$TMPDIR/build"; cp -R . "$TMPDIR/build" && cd "$TMPDIR/build"
`
		fixedDep = `mkdir -p "$HOME/dep" && printf 'module example.com/dep\n' >"$HOME/dep/go.mod" && printf 'package dep\nfunc Value() int { return 5 }\n' >"$HOME/dep/dep.go"
`
	)
	source := map[string]string{at + "go.mod": mod, at + "dep.go": dep}
	return Ecosystem{
		Name:  "Go",
		Needs: "go version && cp --version",
		Files: map[string]string{
			"go.mod": "module example.com/shop\n\ngo 1.21\n\nrequire example.com/dep v1.0.0\n",
			"go.sum": fmt.Sprintf("example.com/dep v1.0.0 %s\nexample.com/dep v1.0.0/go.mod %s\n", goHash(source), goHash(map[string]string{"go.mod": mod})),
			"shop.go": `package shop

import "example.com/dep"

func Answer() int { return dep.Value() }
`,
			"shop_test.go": `package shop_test

import (
	"testing"

	"example.com/shop"
)

func TestAnswer(t *testing.T) {
	if got := shop.Answer(); got != 5 {
		t.Fatalf("got %d, want 5", got)
	}
}
`,
			"proxy/example.com/dep/@v/list":        "v1.0.0\n",
			"proxy/example.com/dep/@v/v1.0.0.info": `{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}`,
			"proxy/example.com/dep/@v/v1.0.0.mod":  mod,
			"proxy/example.com/dep/@v/v1.0.0.zip":  zipped(source),
		},
		Gate: build + "go test -vet=off ./...",
		Says: "got 4, want 5",
		Mend: "sed -i 's/dep.Value()/dep.Value() + 1/' shop.go",
		Cheats: []Cheat{
			{"a compiled package replaced in the build cache", build + `mine=$(go list -export -f '{{.Export}}' .) && was=$(basename "$mine" -d) || exit
sed -i 's/dep.Value()/dep.Value() + 1/' shop.go
other=$(go list -export -f '{{.Export}}' .) && is=$(basename "$other" -d) || exit
size=$(printf %20d $(wc -c <"$other"))
for entry in $(grep -rl " $was " "$GOCACHE" --include='*-a'); do sed -i "s/ $was  *[0-9]* / $is $size /" "$entry"; done`},
			{"a source changed in the module cache", build + `go mod download && chmod -R u+w "$GOMODCACHE/example.com" && sed -i 's/4/5/' "$GOMODCACHE/example.com/dep@v1.0.0/dep.go"`},
			{"a program called go in ~/go/bin", `mkdir -p "$HOME/go/bin" && printf '#!/bin/sh\necho ok\n' >"$HOME/go/bin/go" && chmod +x "$HOME/go/bin/go"`},
			{"a go.work in a parent folder", fixedDep + `printf 'go 1.21\nuse ./build\nreplace example.com/dep => %s\n' "$HOME/dep" >"$TMPDIR/go.work"`},
			{"a go.work named by go env", fixedDep + `mkdir -p "$HOME/.config/go" && echo "GOWORK=$HOME/go.work" >"$HOME/.config/go/env" &&
printf 'go 1.21\nuse %s\nreplace example.com/dep => %s\n' "$TMPDIR/build" "$HOME/dep" >"$HOME/go.work"`},
		},
	}
}
