package cli

import (
	"fmt"
	"strconv"
)

// Size is a number of bytes for people, such as "1.2 GB": rounded down to a tenth of the
// largest unit that fits.
func Size(n int64) string {
	unit, size := "bytes", int64(1)
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if n < 1000*size {
			break
		}
		unit, size = u, 1000*size
	}
	whole, tenth := n/size, n%size*10/size
	if tenth == 0 {
		return strconv.FormatInt(whole, 10) + " " + unit
	}
	return fmt.Sprintf("%d.%d %s", whole, tenth, unit)
}
