// Platforms checks the types of this module's packages and their tests for other platforms:
//
//	go run ./tools/platforms darwin/arm64 windows/amd64
//
// It reads the source of all that they depend on, which takes seconds. go vet and go build would
// compile the dependencies for each platform, which takes minutes.
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

// run checks the packages below dir for each platform and returns the errors found.
func run(out io.Writer, dir string, platforms []string) error {
	var problems []error
	for _, p := range platforms {
		goos, goarch, ok := strings.Cut(p, "/")
		if !ok {
			return fmt.Errorf("%q is not a platform: write GOOS/GOARCH, such as darwin/arm64", p)
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

// check returns the type errors for a platform. It returns an error once even if a package and its
// test variant both have it.
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
		return nil, errors.New("no packages found")
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
