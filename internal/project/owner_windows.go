package project

// checkOwner and checkFolder do nothing: Pawl does not run on Windows itself, see
// docs/platforms.md.
func checkOwner(string) error { return nil }

func checkFolder(string) error { return nil }
