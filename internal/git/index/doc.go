// Package index does in this process what git add -A followed by git write-tree does: it
// brings an index up to a folder and tells the tree of what is there.
//
// [Read] reads git's index file once. [Index.Update] compares it with a folder by the times
// and sizes of files, reads what may have changed, and hands the objects that are new to a
// store; [Index.Encode] makes an index file again. A file whose time is not clearly before
// the look that read it is read again at the next one, as git does.
//
// Git stays the reference. What this package does not know how to do as git does it, it
// refuses with an [Unsupported] error before anything is stored, and the caller lets git do
// it: other versions of the file, conflicts, attributes that change contents, submodules and
// repositories in the folder, names that git refuses, what is neither a file nor a symbolic
// link, and sizes beyond the limits. Whether an unknown path is ignored is asked of git too.
package index
