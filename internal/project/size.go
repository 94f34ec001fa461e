package project

import (
	"context"
	"io/fs"
	"path/filepath"
)

// MaxMeasured is how many files are looked at, at most, when people are told what takes how
// much disk.
const MaxMeasured = 100_000

// Measure adds up how many bytes the files below a folder take on disk. What vanishes
// meanwhile or cannot be read is left out. It looks at as many files as files says, which it
// counts down, and reports whether there were more.
func Measure(ctx context.Context, dir string, files *int) (bytes int64, partial bool) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return fs.SkipAll
		case err != nil:
			return nil //nolint:nilerr // it is left out
		case *files <= 0:
			partial = true
			return fs.SkipAll
		}
		*files--
		if info, err := d.Info(); err == nil {
			bytes += DiskSize(info)
		}
		return nil
	})
	return bytes, partial
}
