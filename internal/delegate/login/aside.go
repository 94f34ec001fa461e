package login

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// kind is why a login was set aside. Each kind has a limit of its own, so that an agent that leaves
// garbage cannot push out real logins.
type kind string

const (
	displaced kind = ".login"    // a login that another one won against, or that could not be written
	rejected  kind = ".rejected" // not a login, or one to another account
)

// maxAside bounds how many files of a kind are kept for a login. The oldest ones are removed.
const maxAside = 20

// setAside keeps data in Folder and returns the name of the file.
func (h *held) setAside(data []byte, k kind) (string, error) {
	entries, err := os.ReadDir(h.Folder)
	if err != nil {
		return "", err
	}
	var numbers []int
	for _, e := range entries {
		number := strings.TrimSuffix(strings.TrimPrefix(e.Name(), h.key+"-"), string(k))
		if n, err := strconv.Atoi(number); err == nil { // other files have more in their names
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	next := 1
	if len(numbers) > 0 {
		next = numbers[len(numbers)-1] + 1
	}
	name := func(n int) string { return filepath.Join(h.Folder, fmt.Sprintf("%s-%d%s", h.key, n, k)) }
	if err := replace(name(next), data, nil); err != nil {
		return "", err
	}
	for i := range len(numbers) + 1 - maxAside {
		_ = os.Remove(name(numbers[i])) // the next call tries again
	}
	return name(next), nil
}

// maxRemembered bounds how many logins are remembered. An agent refreshes its login every few hours.
const maxRemembered = 100

// remember notes that data was in the user's file, by its hash. After a crash, an agent's file that has
// it is a copy that the agent did not change.
func (h *held) remember(data []byte) error {
	lines, err := h.remembered()
	if err != nil || slices.Contains(lines, hashOf(data)) {
		return err
	}
	lines = append(lines, hashOf(data))
	lines = lines[max(0, len(lines)-maxRemembered):]
	return replace(h.memory(), []byte(strings.Join(lines, "\n")), nil)
}

func (h *held) remembers(data []byte) bool {
	lines, err := h.remembered()
	return err == nil && slices.Contains(lines, hashOf(data))
}

func (h *held) remembered() ([]string, error) {
	data, err := os.ReadFile(h.memory())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return strings.Fields(string(data)), err
}

// memory returns the name of the file that remember writes.
func (h *held) memory() string { return filepath.Join(h.Folder, h.key+".taken") }

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
