// Notices writes THIRD_PARTY_NOTICES, which names the modules that Pawl's programs are
// linked with and holds their licences, and checks that the file is up to date:
//
//	go run ./tools/notices linux/amd64 darwin/arm64           check the file
//	go run ./tools/notices -write linux/amd64 darwin/arm64    write it
//
// Both fail if a module has no licence, or one that is not allowed. The modules come from
// the go command and their texts from the module cache, so neither uses the network once
// the modules are there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
)

// noticesFile is relative to the root of the repository, where the program runs.
const noticesFile = "THIRD_PARTY_NOTICES"

// programs are the packages whose dependencies are shipped.
var programs = []string{"./cmd/pawl", "./cmd/pawl-helper"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("notices", flag.ContinueOnError)
	write := flags.Bool("write", false, "write "+noticesFile+" instead of checking it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("no platform is given: want OS/ARCH, such as linux/amd64")
	}
	modules, err := linked(ctx, flags.Args())
	if err != nil {
		return err
	}
	texts, err := read(modules)
	if err != nil {
		return err
	}
	want := render(modules, texts)
	if *write {
		return os.WriteFile(noticesFile, []byte(want), 0o644)
	}
	got, err := os.ReadFile(noticesFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return compare(string(got), want)
}

// compare returns an error that names what is missing from the notices or is in them
// without need.
func compare(got, want string) error {
	if got == want {
		return nil
	}
	var differ []string
	have, need := headings(got), headings(want)
	for h := range need {
		if !have[h] {
			differ = append(differ, "it lacks "+h)
		}
	}
	for h := range have {
		if !need[h] {
			differ = append(differ, "it has "+h+", which is not linked")
		}
	}
	if len(differ) == 0 {
		differ = []string{"the text of a licence has changed"}
	}
	return fmt.Errorf("%s is not up to date: %s; make notices writes it", noticesFile, list(differ))
}

// headings returns the modules that notices name, with their versions and licences.
func headings(notices string) map[string]bool {
	table, _, _ := strings.Cut(notices, rule)
	all := map[string]bool{}
	for line := range strings.Lines(table) {
		if entry, ok := strings.CutPrefix(line, entryIndent); ok {
			all[strings.Join(strings.Fields(entry), " ")] = true
		}
	}
	return all
}
