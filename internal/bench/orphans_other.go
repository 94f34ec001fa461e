//go:build !linux

package bench

func inherit() func() int { return func() int { return -1 } }
