// Package tried tells, from a run's events, what was tried of its tasks, what was said of that, and
// when the run went back. Questions to people, announcements of these and anti-patterns say it in the
// same words, so that none of them holds less than another.
//
// An attempt is told by its batch or number, never by a commit or a tree: whoever reads a text
// cannot look these up.
package tried
