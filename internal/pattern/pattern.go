// Package pattern is regular expressions that are compiled when they are first used. If
// all of Pawl's were compiled when it starts, that would take half of its start.
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

func (p *Pattern) Match(b []byte) bool              { return p.compiled().Match(b) }
func (p *Pattern) MatchString(s string) bool        { return p.compiled().MatchString(s) }
func (p *Pattern) Find(b []byte) []byte             { return p.compiled().Find(b) }
func (p *Pattern) FindIndex(b []byte) []int         { return p.compiled().FindIndex(b) }
func (p *Pattern) FindSubmatch(b []byte) [][]byte   { return p.compiled().FindSubmatch(b) }
func (p *Pattern) FindAll(b []byte, n int) [][]byte { return p.compiled().FindAll(b, n) }
func (p *Pattern) FindString(s string) string       { return p.compiled().FindString(s) }
func (p *Pattern) FindAllString(s string, n int) []string {
	return p.compiled().FindAllString(s, n)
}
func (p *Pattern) FindStringSubmatch(s string) []string { return p.compiled().FindStringSubmatch(s) }
func (p *Pattern) FindStringSubmatchIndex(s string) []int {
	return p.compiled().FindStringSubmatchIndex(s)
}
func (p *Pattern) FindAllStringIndex(s string, n int) [][]int {
	return p.compiled().FindAllStringIndex(s, n)
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
