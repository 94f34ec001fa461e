package pawl

import "time"

// DaemonInfo says which process serves a user's projects.
type DaemonInfo struct {
	Version string    `json:"version"`
	Build   string    `json:"build,omitempty"` // what it was built from: a revision, or a hash of the program
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Socket  string    `json:"socket"`
	// Address is where it listens for browsers, as host:port; empty = nowhere.
	Address string `json:"address,omitempty"`
}
