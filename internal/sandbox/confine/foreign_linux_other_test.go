//go:build linux && !amd64

package confine_test

const x32getpid = 0

var foreign32 []byte
