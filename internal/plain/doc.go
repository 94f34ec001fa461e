// Package plain makes text safe to show. What models, tools, git and files say
// may hold terminal controls that move the cursor, change the clipboard or the
// title, or hide and reorder what a person reads. [Text] and [Line] let through
// what is known to be harmless and drop the rest: an allow-list, because the
// list of harmful things is never finished. Everything a face prints passes
// through here once, at the point where it is put into words.
package plain
