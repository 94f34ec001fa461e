package room

import "errors"

// flatten makes one layer of many. There are no layers on Windows.
func flatten([]Layer, string) error { return errors.ErrUnsupported }
