package room

import (
	"context"
	"testing"

	"pawl"
)

// Whatever a room is made of tells two rooms apart, and nothing else.
func TestSameDelegate(t *testing.T) {
	spec := func(change func(*pawl.DelegateSpec)) *pawl.DelegateSpec {
		s := &pawl.DelegateSpec{
			AgentRoom: pawl.AgentRoom{Run: "001", Name: "001", Tree: "/tree", Limits: pawl.RoomLimits{Files: 7}}, Agent: "claude",
			Programs: []string{"/opt/claude"}, Environ: []string{"A=b"}, Egress: []string{"npm.test:443"},
			Home:    []pawl.RoomFile{{Path: "a", Data: []byte("b")}},
			Gateway: &pawl.Gateway{Address: "https://models.test", Token: "token"},
		}
		change(s)
		return s
	}
	same := spec(func(s *pawl.DelegateSpec) {
		s.Refused = func(pawl.Contact) {}
		s.Gateway.Key = func(context.Context) (string, error) { return "", nil }
	})
	if !sameDelegate(spec(func(*pawl.DelegateSpec) {}), same) {
		t.Error("functions tell rooms apart")
	}
	for what, change := range map[string]func(*pawl.DelegateSpec){
		"Prepared":   func(s *pawl.DelegateSpec) { s.Prepared = "key" },
		"Limits":     func(s *pawl.DelegateSpec) { s.Limits.Files = 8 },
		"Agent":      func(s *pawl.DelegateSpec) { s.Agent = "codex" },
		"ReadOnly":   func(s *pawl.DelegateSpec) { s.ReadOnly = true },
		"Programs":   func(s *pawl.DelegateSpec) { s.Programs = nil },
		"Environ":    func(s *pawl.DelegateSpec) { s.Environ = []string{"A=c"} },
		"Egress":     func(s *pawl.DelegateSpec) { s.Egress = nil },
		"Path":       func(s *pawl.DelegateSpec) { s.Home[0].Path = "c" },
		"Data":       func(s *pawl.DelegateSpec) { s.Home[0].Data = nil },
		"Executable": func(s *pawl.DelegateSpec) { s.Home[0].Executable = true },
		"NoGateway":  func(s *pawl.DelegateSpec) { s.Gateway = nil },
		"Address":    func(s *pawl.DelegateSpec) { s.Gateway.Address = "https://other.test" },
		"Token":      func(s *pawl.DelegateSpec) { s.Gateway.Token = "other" },
	} {
		other := spec(change)
		if sameDelegate(same, other) || sameDelegate(other, same) {
			t.Errorf("%s does not tell rooms apart", what)
		}
	}
}
