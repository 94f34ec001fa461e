//go:build !linux && !darwin

package main

import "errors"

func fileSystem(string) (kind string, remote bool, err error) {
	return "", false, errors.New("look at the file system: not known on this system")
}
