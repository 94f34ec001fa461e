package server

import (
	"io/fs"

	"pawl"
)

// supported says that nothing can be served: Windows does not tell who connects.
func supported() error {
	return pawl.Errorf(pawl.CodeUnavailable, "on Windows a socket cannot be kept to its user").WithHint("run Pawl in WSL 2")
}

func owner(fs.FileInfo) string { return "" }

func ours(fs.FileInfo) bool { return false }
