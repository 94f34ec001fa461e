package main

import (
	"crypto/sha256"
	"strings"
	"sync"
	"time"

	"pawl/internal/cli"
	"pawl/internal/config"
)

// loadedConfigs keeps what [providersOf] loads, for a process that needs the same again and again: a
// start of a run needs it twenty times. The user's file is looked at each time, and read again if it is not
// the one that was read. Only the settings of providers and of who pays are the same as if they were
// loaded anew: whether a plan pays for a model depends on other files. It may be used by many goroutines
// at once. Its zero value is ready for use.
type loadedConfigs struct {
	now func() time.Time // nil means time.Now

	mu sync.Mutex
	by map[[sha256.Size]byte]loadedConfig // by the environment, whose secrets are not kept
}

type loadedConfig struct {
	config config.Config
	file   fileState
}

// maxLoaded is how many configurations are kept.
const maxLoaded = 100

// get returns what [providersOf] returns for an environment.
func (l *loadedConfigs) get(environ []string) (config.Config, error) {
	app := &cli.App{Environ: environ}
	file, known := stateOf(app.UserConfig())
	if !known {
		return providersOf(app)
	}
	key := sha256.Sum256([]byte(strings.Join(environ, "\x00")))
	l.mu.Lock()
	kept, ok := l.by[key]
	l.mu.Unlock()
	if ok && kept.file == file {
		return kept.config, nil
	}
	cfg, err := providersOf(app)
	now := time.Now
	if l.now != nil {
		now = l.now
	}
	if err != nil || !file.settled(now()) {
		return cfg, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.by == nil || len(l.by) >= maxLoaded {
		l.by = map[[sha256.Size]byte]loadedConfig{}
	}
	l.by[key] = loadedConfig{cfg, file}
	return cfg, nil
}

// fileState tells whether a file is still what it was. Its zero value means that there is none.
type fileState struct {
	device, inode     uint64
	size              int64
	modified, changed time.Time
}

// settling is how long a file may change again without another state: its times are only as exact as
// the file system's clock, which may be another machine's.
const settling = 2 * time.Second

// settled reports whether a file that changes after now has another state then.
func (s fileState) settled(now time.Time) bool {
	return s == fileState{} || s.changed.Before(now.Add(-settling)) && s.modified.Before(now.Add(-settling))
}
