package heldout

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"pawl"
)

// Checks are what a folder of held-out checks holds. Exactly one of Scripts and Tests is set.
type Checks struct {
	// Scripts are run one after the other, in this order, at the root of the checkout. Each has to
	// exit with 0.
	Scripts []pawl.RoomFile `json:"scripts,omitempty"`
	// Overlay is laid over the checkout.
	Overlay []pawl.RoomFile `json:"overlay,omitempty"`
	// Tests are the tests of a Harbor task, which are run by its test.sh.
	Tests []pawl.RoomFile `json:"tests,omitempty"`
	// Env are variables of the Harbor task's tests, NAME=value, sorted.
	Env []string `json:"env,omitempty"`
	// Timeout bounds the Harbor task's tests; zero = it says nothing.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// IsHarbor reports whether the checks are the tests of a Harbor task.
func (c *Checks) IsHarbor() bool { return len(c.Tests) > 0 }

// Encode returns the checks as they are kept: the same checks give the same bytes.
func (c *Checks) Encode() ([]byte, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode held-out checks: %w", err)
	}
	return data, nil
}

// Decode reads what Encode returned.
func Decode(data []byte) (*Checks, error) {
	var c Checks
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, pawl.Errorf(pawl.CodeDamaged, "the held-out checks of the run: %w", err)
	}
	if (len(c.Scripts) == 0) == (len(c.Tests) == 0) {
		return nil, pawl.Errorf(pawl.CodeDamaged, "the held-out checks of the run are no checks")
	}
	return &c, nil
}

// String says in a few words what the checks are, and nothing of their names.
func (c *Checks) String() string {
	if c.IsHarbor() {
		return "the tests of a Harbor task, " + count(len(c.Tests), "file")
	}
	s := count(len(c.Scripts), "script")
	if n := len(c.Overlay); n > 0 {
		s += fmt.Sprintf(" with %s laid over the checkout", count(n, "file"))
	}
	return s
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// shell runs a script that does not say what runs it.
const shell = "/bin/sh"

// Command returns how a script is run that is at a path: by the interpreter that its first line
// names, as the file itself may not be executable.
func Command(script []byte, at string) []string {
	line, _, _ := strings.Cut(string(script[:min(len(script), 256)]), "\n")
	rest, ok := strings.CutPrefix(line, "#!")
	rest = strings.TrimSpace(rest)
	if !ok || !path.IsAbs(rest) {
		return []string{shell, at}
	}
	interpreter, argument, _ := strings.Cut(rest, " ")
	argv := []string{interpreter}
	switch argument = strings.TrimSpace(argument); {
	case argument == "":
	case path.Base(interpreter) == "env": // whose -S takes several words, as people write them
		argv = append(argv, slices.DeleteFunc(strings.Fields(argument), func(w string) bool { return w == "-S" })...)
	default: // which the system takes for one word
		argv = append(argv, argument)
	}
	return append(argv, at)
}

// Reward returns what the reward files of a Harbor task say, and whether the tests pass: the reward is
// 1 or more. A file that is not there is nil. reward.json is an object of numbers; where it has no
// reward, that of reward.txt counts, and without that file all its numbers.
func Reward(text, object []byte) (says string, passes bool, err error) {
	var numbers map[string]float64
	if object != nil {
		if numbers, err = rewards(object); err != nil {
			return "", false, err
		}
	}
	if _, has := numbers["reward"]; !has && text != nil {
		var n float64
		if err := json.Unmarshal([]byte(strings.TrimSpace(string(text))), &n); err != nil {
			return "", false, fmt.Errorf("reward.txt holds %.40q: want a number", strings.TrimSpace(string(text)))
		}
		numbers = map[string]float64{"reward": n}
	}
	if n, has := numbers["reward"]; has {
		numbers = map[string]float64{"reward": n}
	}
	if len(numbers) == 0 {
		return "", false, fmt.Errorf("neither reward.txt nor reward.json in /logs/verifier has a reward")
	}
	names := make([]string, 0, len(numbers))
	for name := range numbers {
		names = append(names, name)
	}
	slices.Sort(names)
	passes = true
	for i, name := range names {
		passes = passes && numbers[name] >= 1
		names[i] = fmt.Sprintf("%s %g", name, numbers[name])
	}
	return strings.Join(names, ", "), passes, nil
}

// rewards returns the numbers of a reward.json; everything else in it says more than is needed.
func rewards(object []byte) (map[string]float64, error) {
	var all map[string]any
	if err := json.Unmarshal(object, &all); err != nil {
		return nil, fmt.Errorf("reward.json: %w", err)
	}
	numbers := map[string]float64{}
	for name, v := range all {
		if n, ok := v.(float64); ok {
			numbers[name] = n
		}
	}
	return numbers, nil
}
