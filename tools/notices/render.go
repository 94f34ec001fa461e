package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

const (
	rule        = "--------------------------------------------------------------------------------\n"
	entryIndent = "  "
)

const preface = `Third-party notices

Pawl's programs contain the software below. The table says which licences each module
comes under; the texts follow it, each one once. Not every module is linked on every
platform. make notices writes this file, and make lint checks it.

`

// render returns the file of notices.
func render(modules []module, texts []*text) string {
	var b strings.Builder
	b.WriteString(preface)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, m := range modules {
		names := map[string]bool{}
		for _, t := range texts {
			for _, of := range t.of {
				if strings.HasPrefix(of, m.path+" "+m.version+", ") {
					for _, l := range t.licences {
						names[l] = true
					}
				}
			}
		}
		delete(names, patents) // a grant beside a licence
		fmt.Fprintf(table, "%s%s\t%s\t%s\n", entryIndent, m.path, m.version, strings.Join(slices.Sorted(maps.Keys(names)), ", "))
	}
	_ = table.Flush() // writing to a builder cannot fail
	for _, t := range texts {
		b.WriteString("\n" + rule)
		for _, of := range t.of {
			b.WriteString(of + "\n")
		}
		b.WriteString(rule + "\n" + t.words)
	}
	return b.String()
}

// list joins words as a sentence does.
func list(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	slices.Sort(words)
	return strings.Join(words, "; ")
}
