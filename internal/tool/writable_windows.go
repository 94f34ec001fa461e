package tool

import "pawl"

func (p *place) moveIn(string) error {
	return pawl.Errorf(pawl.CodeUnavailable, "write %s: on Windows nothing keeps a file in its folder while it is moved", p.path).
		WithHint("run Pawl in WSL 2")
}
