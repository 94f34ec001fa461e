// Package strictyaml reads YAML that others wrote: configurations and recipes,
// some of them from repositories nobody has looked at.
//
// A reader names its keys once, in a function over a [Map], and that one
// description reads a file ([Read]), reads single settings from variables and
// flags ([ReadPairs]), is published as a JSON Schema ([Schema]) and printed as
// a reference ([Reference]), so the four cannot drift apart.
//
// The YAML is a plain subset: one document of mappings, lists and scalars. A
// file is refused when it is larger than [MaxBytes], nests deeper than
// [MaxDepth], uses anchors, aliases, merge keys, tags or directives, repeats a
// key, leaves a key without a value, has a key nobody asked for, or holds
// control characters. Size is checked before anything is parsed, so the worst
// file costs a few milliseconds and a few megabytes.
//
// Up to [MaxProblems] problems are reported together, each with file, line,
// column, key and what would have been right. Values read before a problem was
// found are kept; they are only worth using when there was none.
package strictyaml

// Limits of a file.
const (
	MaxBytes    = 256 << 10
	MaxDepth    = 32 // mappings and lists inside each other
	MaxProblems = 10 // reported at once
	// maxMarks bounds the characters that can mean something in YAML, and
	// maxTokens what they may turn out to be: the parser's work and memory grow
	// with the square of the keys of one mapping.
	maxMarks  = 30_000
	maxTokens = 5_000
)
