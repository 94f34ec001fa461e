package project

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pawl"
)

// identityName is the file in a repository's git folder that tells it from all others,
// wherever it is moved. A copy of the folder has the same one until Pawl meets it.
const identityName = "pawl-id"

// identity is what a repository is known by. The zero value means that it has none.
type identity struct {
	id      string
	unknown bool // there is one that cannot be read, or that another user made
}

// mayBe reports whether a repository with this identity can be the one that was known by id.
func (i identity) mayBe(id string) bool { return id == "" || i.unknown || i.id == id }

func identityOf(gitDir string) identity {
	name := filepath.Join(gitDir, identityName)
	info, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return identity{}
	}
	if err != nil || !info.Mode().IsRegular() || !trusted(info) {
		return identity{unknown: true}
	}
	data, err := os.ReadFile(name)
	id := strings.TrimSpace(string(data))
	if raw, malformed := hex.DecodeString(id); err != nil || malformed != nil || len(raw) != 16 {
		return identity{unknown: true}
	}
	return identity{id: id}
}

// identify gives a repository an identity unless it has one. One that cannot be written to
// stays without: it is known by its place only.
func identify(gitDir string) identity {
	if i := identityOf(gitDir); i.id != "" || i.unknown {
		return i
	}
	_ = writeIdentity(gitDir, os.Link) // of two processes the first one decides
	return identityOf(gitDir)
}

// writeIdentity makes a new identity and puts the finished file in place.
func writeIdentity(gitDir string, put func(from, to string) error) error {
	var raw [16]byte
	_, _ = rand.Read(raw[:])                           // it never fails
	f, err := os.CreateTemp(gitDir, identityName+".*") // only the user can read it
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = fmt.Fprintln(f, hex.EncodeToString(raw[:]))
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return put(f.Name(), filepath.Join(gitDir, identityName))
}

// Present reports whether the repository is still where it was when it was last used.
func (p Project) Present() bool {
	_, err := os.Stat(p.Repo.GitDir)
	return !errors.Is(err, fs.ErrNotExist) && identityOf(p.Repo.GitDir).mayBe(p.identity)
}

// HasLog reports whether something was ever stored for the project.
func (p Project) HasLog() bool {
	for _, name := range []string{"pawl.db", "pawl.slots"} {
		if _, err := os.Stat(filepath.Join(p.Dir, name)); err == nil {
			return true
		}
	}
	return false
}

// isAt reports whether this is the project of the repository in a git folder.
func (p Project) isAt(gitDir string, i identity) bool {
	return p.Repo.GitDir == gitDir && i.mayBe(p.identity)
}

// find is the project of a repository: the one that has its place, or had another place and
// its identity. A copy of a repository that is still there gets an identity of its own. When
// the other place is gone and this may be either, it fails with [pawl.CodeState].
//
// Other processes may be describing the same project. They give the repository its identity first,
// so the identity is read after each description.
func (h Home) find(repo pawl.Repository) (Project, error) {
	if p, err := h.described(h.folder(repo.GitDir)); err == nil && p.isAt(repo.GitDir, identityOf(repo.GitDir)) {
		p.Repo = repo
		return p, nil
	}
	all, err := h.Projects()
	if err != nil {
		return Project{}, err
	}
	i := identityOf(repo.GitDir)
	for _, p := range all {
		if p.isAt(repo.GitDir, i) {
			p.Repo = repo
			return p, nil
		}
	}
	for _, p := range all {
		if i.id == "" || p.identity != i.id {
			continue
		}
		switch there := p.Present(); {
		case there && sameFile(p.Repo.GitDir, repo.GitDir), !there && p.inode != 0 && p.inode == inode(repo.GitDir):
			p.Repo = repo
			return p, nil
		case there, !p.HasLog():
			_ = writeIdentity(repo.GitDir, os.Rename) // or it is known by its place only
			return h.anew(repo), nil
		}
		return Project{}, pawl.Errorf(pawl.CodeState, "the runs of %s may be of this repository: it is that one, moved, or a copy", p.Repo.Root).
			WithHint("pawl attach takes the runs over; pawl attach --new leaves them and begins without any")
	}
	return h.anew(repo), nil
}

func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// anew is a project of a repository that had no state folder. The folder of its place may belong to
// a repository that was there before, or by now to this one.
func (h Home) anew(repo pawl.Repository) Project {
	dir := h.folder(repo.GitDir)
	for n := 2; ; n++ {
		p, err := h.described(dir)
		if err != nil {
			return Project{Repo: repo, Dir: dir}
		}
		if p.isAt(repo.GitDir, identityOf(repo.GitDir)) {
			p.Repo = repo
			return p
		}
		dir = fmt.Sprintf("%s-%d", h.folder(repo.GitDir), n)
	}
}

// described is the project that a state folder says it is of.
func (h Home) described(dir string) (Project, error) {
	var about description
	data, err := os.ReadFile(filepath.Join(dir, "project.json"))
	if err == nil {
		err = json.Unmarshal(data, &about)
	}
	if err == nil && about.GitDir == "" {
		err = errors.New("it does not name a repository")
	}
	if err != nil {
		return Project{}, err
	}
	root := about.Root
	if root == "" {
		root = about.GitDir
		if filepath.Base(root) == ".git" {
			root = filepath.Dir(root)
		}
	}
	return Project{Repo: pawl.Repository{GitDir: about.GitDir, Root: root}, Dir: dir, identity: about.Identity, inode: about.Inode}, nil
}

// Attach gives a repository the runs of one that is gone: the one whose work tree, git folder
// or state folder is named by from or, if from is empty, the one that had this identity or
// this place. It fails with [pawl.CodeNotFound] when there is none, with [pawl.CodeConflict]
// while the other repository is still there or a process has its runs, and with
// [pawl.CodeState] when this one has runs of its own. After an error nothing has changed hands.
func (h Home) Attach(repo pawl.Repository, from, version string) (Project, error) {
	if err := h.Check(); err != nil {
		return Project{}, err
	}
	old, err := h.lost(repo, from)
	if err != nil {
		return Project{}, err
	}
	lock, err := old.Lock(version)
	if err != nil {
		return Project{}, err
	}
	if err = h.vacate(repo, old); err == nil {
		old.Repo = repo
		err = old.describe()
	}
	return old, errors.Join(err, lock.Release())
}

// vacate takes a repository from the project that it has, which has no runs, for another one.
func (h Home) vacate(repo pawl.Repository, other Project) error {
	all, err := h.Projects()
	if err != nil {
		return err
	}
	i := identify(repo.GitDir)
	for _, p := range all {
		if p.Dir == other.Dir || !p.isAt(repo.GitDir, i) {
			continue
		}
		if p.HasLog() {
			return pawl.Errorf(pawl.CodeState, "%s has runs of its own", repo.Root).
				WithHint("clone the repository elsewhere and attach the runs of %s there", other.Repo.Root)
		}
		if err := os.Remove(filepath.Join(p.Dir, "project.json")); err != nil {
			return fmt.Errorf("attach: %w", err)
		}
	}
	return nil
}

// lost is the project of a repository that is gone, see [Home.Attach].
func (h Home) lost(repo pawl.Repository, from string) (Project, error) {
	all, err := h.Projects()
	if err != nil {
		return Project{}, err
	}
	i := identityOf(repo.GitDir)
	var found, gone []string
	var one Project
	for _, p := range all {
		named := from == p.Repo.Root || from == p.Repo.GitDir || filepath.Base(from) == filepath.Base(p.Dir)
		if from == "" {
			named = i.id != "" && p.identity == i.id || p.Repo.GitDir == repo.GitDir
		}
		there, label := p.Present(), fmt.Sprintf("%s (%s)", p.Repo.Root, filepath.Base(p.Dir))
		switch {
		case named && there && from != "":
			return Project{}, pawl.Errorf(pawl.CodeConflict, "%s is still there and keeps its runs", p.Repo.Root)
		case there || !p.HasLog():
			continue
		case named:
			one = p
			found = append(found, label)
		}
		gone = append(gone, label)
	}
	switch {
	case len(found) == 1:
		return one, nil
	case len(found) > 1:
		return Project{}, pawl.Errorf(pawl.CodeInvalid, "there are runs of %d repositories that are gone: %s", len(found), strings.Join(found, ", ")).
			WithHint("name the one in parentheses: pawl attach --from ID")
	case len(gone) == 0:
		return Project{}, pawl.Errorf(pawl.CodeNotFound, "no runs are stored of a repository that is gone").
			WithHint("a repository that was moved is found again by itself")
	}
	return Project{}, pawl.Errorf(pawl.CodeNotFound, "none of the repositories that are gone was this one").
		WithHint("pawl attach --from OLD takes over those of %s", strings.Join(gone, ", "))
}

// Separate gives a copy of a repository that is gone an identity of its own: it has no runs,
// and those of the other one stay what they are. It fails with [pawl.CodeState] when nobody
// needs to decide that.
func (h Home) Separate(repo pawl.Repository) error {
	if _, err := h.find(repo); pawl.CodeOf(err) != pawl.CodeState {
		return errors.Join(err, pawl.Errorf(pawl.CodeState, "%s has an identity of its own already", repo.Root))
	}
	if err := writeIdentity(repo.GitDir, os.Rename); err != nil {
		return pawl.Errorf(pawl.CodeUnavailable, "give the repository an identity of its own: %w", err)
	}
	return nil
}
