// Platforms checks that the packages of this module and their tests compile for other platforms:
//
//	go run ./tools/platforms darwin/arm64 windows/amd64
//
// It checks the types in their source and that of all they depend on, which takes seconds. go vet
// and go build would compile the dependencies for each platform, which takes minutes.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	if err := run(os.Stdout, ".", os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "platforms:", err)
		os.Exit(1)
	}
}

// run checks the packages below dir for each platform and returns all that does not compile.
func run(out io.Writer, dir string, platforms []string) error {
	var problems []error
	for _, p := range platforms {
		goos, goarch, ok := strings.Cut(p, "/")
		if !ok {
			return fmt.Errorf("%q is no platform: name it as GOOS/GOARCH, such as darwin/arm64", p)
		}
		if _, err := fmt.Fprintln(out, "types for", p); err != nil {
			return err
		}
		found, err := check(dir, goos, goarch)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		for _, problem := range found {
			problems = append(problems, fmt.Errorf("%s: %w", p, problem))
		}
	}
	return errors.Join(problems...)
}

// check returns what does not compile for a platform, each problem once although a package and the
// variant of it that its tests make both have it.
func check(dir, goos, goarch string) (problems []error, err error) {
	all, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo,
		Dir: dir, Tests: true,
		Env: append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
	}, "./...")
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errors.New("there is no package")
	}
	seen := map[string]bool{}
	packages.Visit(all, nil, func(p *packages.Package) {
		for _, e := range p.Errors {
			if text := e.Error(); !seen[text] {
				seen[text] = true
				problems = append(problems, e)
			}
		}
	})
	return problems, nil
}
