package bench

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"pawl/internal/sandbox/helper"
)

// memoryPace is the time between two looks at the memory of processes.
const memoryPace = 5 * time.Millisecond

// watchMemory begins to watch the memory of the helpers that this process has around commands, and its
// own. The function that it returns ends that, and returns the most that the helpers had together, and by
// how much this process had grown at most, in bytes.
func watchMemory() (end func() (helpers, growth int64)) {
	self := "/proc/self/status"
	before, _ := resident(self)
	stop, stopped := make(chan struct{}), make(chan struct{})
	var helpers, most int64
	go func() {
		defer close(stopped)
		tick := time.NewTicker(memoryPace)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			now, _ := resident(self)
			most = max(most, now)
			sum := int64(0)
			for pid := range descendants(os.Getpid()) {
				if size, name := resident(statusOf(pid)); isHelper(name) {
					sum += size
				}
			}
			helpers = max(helpers, sum)
		}
	}()
	return func() (int64, int64) {
		close(stop)
		<-stopped
		return helpers, max(most-before, 0)
	}
}

// memoryBelow returns the memory of all processes below another one, in bytes.
func memoryBelow(pid int) (sum int64) {
	for below := range descendants(pid) {
		size, _ := resident(statusOf(below))
		sum += size
	}
	return sum
}

// statusOf returns the file that tells a process's memory.
func statusOf(pid int) string { return filepath.Join("/proc", strconv.Itoa(pid), "status") }

// isHelper reports whether a process of this name is one that Pawl starts around commands: the holder of a
// room, which is pawl-helper or this program under the name exe, bubblewrap, or what confines commands and
// relays to sockets in the room.
func isHelper(name string) bool {
	return slices.Contains([]string{"pawl-helper", "exe", "bwrap", strings.TrimPrefix(helper.Enter, "/")}, name)
}

// resident returns the memory of a process and its name, as a file of /proc tells them.
func resident(file string) (size int64, name string) {
	f, err := os.Open(file)
	if err != nil {
		return 0, "" // it has ended
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		key, value, _ := strings.Cut(lines.Text(), ":")
		switch key {
		case "Name":
			name = strings.TrimSpace(value)
		case "VmRSS":
			if _, err := fmt.Sscan(value, &size); err != nil {
				return 0, name
			}
			return size << 10, name
		}
	}
	return 0, name
}
