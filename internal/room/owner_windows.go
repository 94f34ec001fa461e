package room

// handOver does nothing: on Windows no commands are run.
func (r *Rooms) handOver() error { return nil }
