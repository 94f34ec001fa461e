//go:build linux && !amd64 && !arm64

package confine

// There is no table for this architecture; auditArch of 0 says so.
const (
	auditArch = 0
	x32       = 0
	sysMknod  = 0
)

var deniedHere []uint32
