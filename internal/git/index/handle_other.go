//go:build !linux

package index

import "errors"

// handle stands for a folder where it is not read in this way.
type handle struct{}

var errSystem = errors.New("folders are read by git on this system")

func openFolder(string) (*handle, error) {
	return nil, &Unsupported{Reason: ReasonSystem, Err: errSystem}
}

func (h *handle) close()                                   {}
func (h *handle) enter(string) (*handle, error)            { return nil, errSystem }
func (h *handle) names() ([]string, error)                 { return nil, errSystem }
func (h *handle) stat(string) (info, error)                { return info{}, errSystem }
func (h *handle) read(string, int64) ([]byte, info, error) { return nil, info{}, errSystem }
