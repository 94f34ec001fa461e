package sandbox

import (
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"pawl"
	"pawl/internal/room"
)

// Intervals at which the disk is looked at while a command runs. Looking again waits
// at least watchPause times as long as looking took, so that large trees cost no more
// than a part of a processor.
const (
	watchInterval = time.Second
	watchPause    = 4
)

// usage is what folders hold on disk.
type usage struct{ bytes, files int64 }

// measure adds up what folders hold. What vanishes meanwhile or cannot be looked at is
// left out. A file with many names counts once for each: it may be the last.
func measure(folders []string) (total usage) {
	for _, folder := range folders {
		_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil //nolint:nilerr // what cannot be looked at is left out
			}
			if info, err := d.Info(); err == nil {
				total.bytes += room.DiskSize(info)
				total.files++
			}
			return nil
		})
	}
	return total
}

// diskWatch looks at what a room's folders hold, and ends commands that make it more
// than the room may write.
type diskWatch struct {
	folders []string
	limits  pawl.RoomLimits
	start   usage // when the room was opened

	mu   sync.Mutex // guards last
	last usage      // when it was looked at last
}

// watchDisk begins to watch a room's folders.
func watchDisk(folders []string, limits pawl.RoomLimits) *diskWatch {
	w := &diskWatch{folders: folders, limits: limits, start: measure(folders)}
	w.last = w.start
	return w
}

// look measures and says which limit is exceeded, if that has grown since the last
// look: a command that makes room again goes on.
func (w *diskWatch) look() *pawl.ResourceMet {
	now := measure(w.folders)
	w.mu.Lock()
	before := w.last
	w.last = now
	w.mu.Unlock()
	switch {
	case now.bytes > before.bytes && now.bytes-w.start.bytes > w.limits.Disk:
		return &pawl.ResourceMet{Resource: pawl.ResourceDisk, Max: w.limits.Disk}
	case now.files > before.files && now.files-w.start.files > w.limits.Files:
		return &pawl.ResourceMet{Resource: pawl.ResourceFiles, Max: w.limits.Files}
	}
	return nil
}

// run looks until done is closed, and calls end with the first limit that is met.
func (w *diskWatch) run(done <-chan struct{}, end func(pawl.ResourceMet)) {
	timer := time.NewTimer(watchInterval)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		began := time.Now()
		if met := w.look(); met != nil {
			end(*met)
			return
		}
		timer.Reset(max(watchInterval, watchPause*time.Since(began)))
	}
}
