package main

import (
	"slices"
	"strings"
)

// secretNames are the variables of this process whose values must not become
// durable: those that are named like a key.
func secretNames(environ []string) []string {
	var out []string
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		if slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"}, func(word string) bool {
			return strings.Contains(strings.ToUpper(name), word)
		}) {
			out = append(out, name)
		}
	}
	return out
}
