package pawl

import (
	"fmt"
	"strconv"
)

// Bytes is a number of bytes.
type Bytes int64

// String returns the number in the largest unit that fits, rounded down to a tenth, such
// as "1.2 GB". A kB is 1000 bytes.
func (n Bytes) String() string {
	unit, size := "bytes", Bytes(1)
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if n < 1000*size {
			break
		}
		unit, size = u, 1000*size
	}
	whole, tenth := int64(n/size), n%size*10/size
	if tenth == 0 {
		return strconv.FormatInt(whole, 10) + " " + unit
	}
	return fmt.Sprintf("%d.%d %s", whole, tenth, unit)
}
