// Package pattern is regular expressions that are compiled when they are first used:
// all of those that read gates' reports together take a third of the program's start.
package pattern

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression. It may be used by many goroutines.
type Pattern struct{ compiled func() *regexp.Regexp }

// Of is the pattern of a text, which must be one: it panics when it is first used
// otherwise.
func Of(text string) *Pattern {
	return &Pattern{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// The methods are those of [regexp.Regexp].

func (p *Pattern) MatchString(s string) bool            { return p.compiled().MatchString(s) }
func (p *Pattern) FindString(s string) string           { return p.compiled().FindString(s) }
func (p *Pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }
func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	return p.compiled().FindStringSubmatchIndex(s)
}
func (p *Pattern) FindAllStringSubmatch(s string, n int) [][]string {
	return p.compiled().FindAllStringSubmatch(s, n)
}
func (p *Pattern) SubexpNames() []string              { return p.compiled().SubexpNames() }
func (p *Pattern) SubexpIndex(name string) int        { return p.compiled().SubexpIndex(name) }
func (p *Pattern) ReplaceAll(src, repl []byte) []byte { return p.compiled().ReplaceAll(src, repl) }
func (p *Pattern) ReplaceAllString(src, repl string) string {
	return p.compiled().ReplaceAllString(src, repl)
}
func (p *Pattern) ReplaceAllFunc(src []byte, repl func([]byte) []byte) []byte {
	return p.compiled().ReplaceAllFunc(src, repl)
}
func (p *Pattern) ReplaceAllStringFunc(src string, repl func(string) string) string {
	return p.compiled().ReplaceAllStringFunc(src, repl)
}
