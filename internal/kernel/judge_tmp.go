package kernel

import "pawl"

func (d *draft) learnFrom(*Loop, *Session, pawl.Facts) {}
