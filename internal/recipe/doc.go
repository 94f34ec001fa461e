// Package recipe reads, checks and explains recipes: loop systems written in
// YAML. A recipe is one file, NAME.yaml, and a folder NAME of prompt templates
// beside it. The built-in ones are embedded from builtin/; a project overrides
// one by a file of the same name in its recipe folder, and what it leaves out
// of the templates comes from the built-in one.
//
// The language is described once, in language.go: that description reads the
// files, is published as a JSON Schema and is the reference in docs/recipes.md.
// What a schema cannot say (names that must exist, scores that must be
// covered) is in validate.go. What the kernel of this version runs is in
// runnable.go; the rest of the language parses, checks and explains all the
// same, so that recipes can be written ahead of it.
package recipe
