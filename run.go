package pawl

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// RunID names a run within its project: the task's number and slug, such as
// "001-add-login", with "-r2" and on for later runs of the same task. It is
// also the name of the run's branch below pawl/ and of its worktree.
type RunID string

// RunOf returns the id of the n-th run, from 1, of a task with this full id, NNN-slug.
func RunOf(task string, n int) RunID {
	if n == 1 {
		return RunID(task)
	}
	return RunID(fmt.Sprintf("%s-r%d", task, n))
}

// runID is compiled when it is first used, not when the program starts.
var runID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{3,9}-[a-z0-9]+(-[a-z0-9]+)*$`) })

// Valid reports whether the id has the form that ids of runs have.
func (r RunID) Valid() bool { return runID().MatchString(string(r)) }

// Task returns the full id of the task that the run works on, NNN-slug, and which of
// the task's runs it is, from 1.
func (r RunID) Task() (id string, n int) {
	at := strings.LastIndex(string(r), "-r")
	if at < 0 || !strings.Contains(string(r[:at]), "-") {
		return string(r), 1
	}
	n, err := strconv.Atoi(string(r[at+2:]))
	if err != nil || n < 2 || r[at+2] < '1' || r[at+2] > '9' {
		return string(r), 1
	}
	return string(r[:at]), n
}

// IsCalled reports whether a user may mean the run by a name: its id, its beginning, or its task's number alone or
// with which of the task's runs it is, such as 7, 007 and 7-r2. Several runs may be called the same.
func (r RunID) IsCalled(name string) bool {
	id, n := r.Task()
	num, _, _ := strings.Cut(id, "-")
	digits, which, isRun := strings.Cut(name, "-r")
	switch want, err := strconv.Atoi(digits); {
	case err != nil, isRun && !isNumber(which):
		return strings.HasPrefix(string(r), name)
	case isRun && which != strconv.Itoa(n):
		return false
	default:
		has, err := strconv.Atoi(num)
		return err == nil && has == want
	}
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Seq numbers the events of one run from 1 without gaps. Zero is before the first.
type Seq uint64

// Hash identifies a blob by the SHA-256 of its content. The zero Hash means no blob.
type Hash [sha256.Size]byte

// HashOf returns the hash of a blob with this content.
func HashOf(content []byte) Hash { return sha256.Sum256(content) }

// IsZero reports whether there is no blob.
func (h Hash) IsZero() bool { return h == Hash{} }

// String returns the hash in hex; the zero Hash is the empty string.
func (h Hash) String() string {
	if h.IsZero() {
		return ""
	}
	return hex.EncodeToString(h[:])
}

// Short returns the first 12 hex digits, for people.
func (h Hash) Short() string {
	if h.IsZero() {
		return "-"
	}
	return hex.EncodeToString(h[:6])
}

// MarshalText writes the hash as String does.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*h = Hash{}
		return nil
	}
	if hex.DecodedLen(len(text)) != len(h) {
		return fmt.Errorf("blob hash %q: want %d hex digits", text, 2*len(h))
	}
	if _, err := hex.Decode(h[:], text); err != nil {
		return fmt.Errorf("blob hash %q: %w", text, err)
	}
	return nil
}

// Blob is a text or file the log refers to by hash: a prompt, an answer, an
// output, an artifact. It is stored once however often it is referred to. Only [NewBlob] makes
// one, so that its hash is always that of its content. The zero value is no blob.
type Blob struct {
	hash Hash
	data []byte
}

// NewBlob returns the blob with this content. It keeps data, which must not be changed after that.
func NewBlob(data []byte) Blob { return Blob{hash: HashOf(data), data: data} }

// Hash returns the hash of the content.
func (b Blob) Hash() Hash { return b.hash }

// Data returns the content, which must not be changed.
func (b Blob) Data() []byte { return b.data }

// Equal reports whether both blobs have the same content.
func (b Blob) Equal(other Blob) bool { return b.hash == other.hash }
