package confine

// For tests of kernels that are not here.
var (
	MissingLandlock = missingLandlock
	Handled         = handled
)
