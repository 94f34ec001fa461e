// Package login copies the user's login to a coding agent into an agent's home, and writes it back
// when the agent has refreshed it.
//
// A login is one file, such as ~/.claude/.credentials.json. An agent refreshes its login now and then,
// and a refresh token works only once: after a refresh in an agent's home, the user's own file is
// useless until the refreshed login is in it.
//
// A session calls [Login.Take], writes the content to the agent's home, runs the agent, and calls
// [Login.Return] when the agent has ended. Sessions run at the same time, in several processes. If one
// refreshes the login, the provider refuses the others until they take it again; [Login.Changed] tells
// them that trying again is worthwhile.
//
// A model's command can write to the agent's home, so the file there is untrusted: it is read without
// following links, bounded in size, and written back only if it is a login to the same account. Nothing
// here can tell whether the tokens in it are genuine.
package login

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"pawl"
)

// Login is the user's login to a coding agent.
type Login struct {
	// File is the user's file. If it is a symbolic link, the file that it points to is replaced.
	File string
	// Within is the path of the file in an agent's home, with slashes.
	Within string
	// Identify reports whether data is a login, and returns its account; empty if the data does
	// not say.
	Identify func(data []byte) (account string, ok bool)
	// Folder is where locks are, and logins that were set aside. It is created if it does not exist.
	// All processes that use File must have the same one.
	Folder string
}

// lockInterval is how often a process that waits for the lock tries to take it.
const lockInterval = 10 * time.Millisecond

// maxAttempts bounds how often Return starts again because the user's file changed under it.
const maxAttempts = 3

// Take returns the content of the user's file. It waits while a session writes to the file.
func (l *Login) Take(ctx context.Context) ([]byte, error) {
	h, err := l.hold(ctx)
	if err != nil {
		return nil, fmt.Errorf("take the login in %s: %w", l.File, err)
	}
	defer h.lock.Unlock()
	user, err := readUser(h.path)
	if err != nil {
		return nil, pawl.Errorf(pawl.CodeKey, "take the login: %w", err)
	}
	if _, ok := l.Identify(user.data); !ok {
		return nil, pawl.Errorf(pawl.CodeKey, "%s holds no login", l.File)
	}
	if err := h.remember(user.data); err != nil {
		return nil, fmt.Errorf("take the login in %s: %w", l.File, err)
	}
	return user.data, nil
}

// Return writes the login in an agent's home back to the user's file if the agent has changed it. Call
// it when the agent has ended and before the file in the home is overwritten, with what Take returned.
// After a crash that is not known: taken is nil then, and what any Take has returned counts as unchanged.
//
// If the user's file has changed too, the file that was modified last wins and the other one is set
// aside. What Return must not write is set aside as well: a login to another account, or a login that
// the user has logged out of. The result says what happened, for people; it is empty if nothing
// changed. An error says where the agent's login is now. If ctx ends, that is the agent's home, so a
// run that is canceled should still allow Return some seconds.
func (l *Login) Return(ctx context.Context, home string, taken []byte) (said string, err error) {
	agent, err := readHome(home, l.Within)
	if reason, ok := errors.AsType[unfit](err); ok {
		return fmt.Sprintf("ignored the login in the agent's home: %s; %s is unchanged", reason, l.File), nil
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && taken == nil:
		return "", nil
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("the agent removed its login; %s is unchanged", l.File), nil
	case err != nil:
		return "", fmt.Errorf("read the agent's login: %w", err)
	case taken != nil && bytes.Equal(agent.data, taken):
		return "", nil
	}
	h, err := l.hold(ctx)
	if err == nil {
		defer h.lock.Unlock()
		for range maxAttempts {
			if said, err = h.settle(agent, taken); !errors.Is(err, errOvertaken) {
				break
			}
		}
		if errors.Is(err, errOvertaken) {
			err = h.unwritten(agent, err)
		}
	}
	if _, safe := errors.AsType[asideError](err); err != nil && !safe {
		at := filepath.Join(home, filepath.FromSlash(l.Within))
		err = pawl.Errorf(pawl.CodeUnavailable, "the agent's login could not be saved and is still in %s: %w", at, err)
	}
	return said, err
}

// Changed reports whether the user's file is a login that differs from what Take returned: another
// session or the user has refreshed it. After the provider has refused what was taken, trying again with
// what Take returns now may succeed.
func (l *Login) Changed(taken []byte) bool {
	user, err := readUser(l.File)
	if err != nil || bytes.Equal(user.data, taken) {
		return false
	}
	_, ok := l.Identify(user.data)
	return ok
}

// held is a login while this process holds its lock.
type held struct {
	*Login
	path string // of the user's file, without links
	key  string // begins the names of its files in Folder
	lock *flock.Flock
}

func (l *Login) hold(ctx context.Context) (*held, error) {
	path, err := resolve(l.File)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(l.Folder, 0o700); err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(path))
	h := &held{Login: l, path: path, key: hex.EncodeToString(sum[:8])}
	h.lock = flock.New(filepath.Join(l.Folder, h.key+".lock"), flock.SetPermissions(0o600))
	if _, err := h.lock.TryLockContext(ctx, lockInterval); err != nil {
		return nil, fmt.Errorf("wait for the lock of the login: %w", err)
	}
	return h, nil
}

// settle decides between the agent's login and the user's file.
func (h *held) settle(agent snapshot, taken []byte) (said string, err error) {
	user, err := readUser(h.path)
	gone := errors.Is(err, fs.ErrNotExist)
	if err != nil && !gone {
		return "", h.unwritten(agent, err)
	}
	if !gone && bytes.Equal(agent.data, user.data) || taken == nil && h.remembers(agent.data) {
		return "", nil
	}
	account, isLogin := h.Identify(agent.data)
	before, _ := h.Identify(taken)
	now, loggedIn := h.Identify(user.data)
	switch {
	case !isLogin:
		return h.refuse(agent, rejected, "the agent's file is not a valid login")
	case differ(before, account):
		return h.refuse(agent, rejected, "the agent's login is to another account")
	case gone || !loggedIn:
		return h.refuse(agent, displaced, "you have logged out since the agent started")
	case differ(now, account):
		return h.refuse(agent, displaced, "you have logged in to another account since the agent started")
	case taken != nil && bytes.Equal(user.data, taken):
		said = "the agent refreshed the login: updated " + h.File
	case !laterOf(agent, user, time.Now()):
		return h.refuse(agent, displaced, "the login was refreshed elsewhere after the agent refreshed it")
	default:
		aside, err := h.setAside(user.data, displaced)
		if err != nil {
			return "", fmt.Errorf("set the login in %s aside: %w", h.File, err)
		}
		said = fmt.Sprintf("the agent refreshed the login last: updated %s; its previous content is in %s", h.File, aside)
	}
	if err := replace(h.path, agent.data, &user); errors.Is(err, errOvertaken) {
		return "", err
	} else if err != nil {
		return "", h.unwritten(agent, err)
	}
	_ = h.remember(agent.data) // only saves a needless conflict after a crash
	return said, nil
}

// differ reports whether two accounts are known to be different. A file that does not say its account
// may begin to.
func differ(before, now string) bool { return before != "" && before != now }

// laterOf reports whether a was modified after b. A time in the future counts as now.
func laterOf(a, b snapshot, now time.Time) bool {
	at, bt := a.info.ModTime(), b.info.ModTime()
	if bt.After(now) {
		bt = now
	}
	return at.After(bt) && bt.Before(now)
}

// refuse sets the agent's login aside and says why and where.
func (h *held) refuse(agent snapshot, k kind, why string) (string, error) {
	aside, err := h.setAside(agent.data, k)
	if err != nil {
		return "", fmt.Errorf("%s, and it cannot be set aside: %w", why, err)
	}
	return fmt.Sprintf("%s: %s is unchanged, and the agent's login is in %s", why, h.File, aside), nil
}

// asideError is the error of a login that could not be written back and was set aside instead. It says
// where the login is.
type asideError struct{ error }

func (e asideError) Unwrap() error { return e.error }

// unwritten sets the agent's login aside because the user's file could not be replaced.
func (h *held) unwritten(agent snapshot, cause error) error {
	aside, err := h.setAside(agent.data, displaced)
	if err != nil {
		return errors.Join(cause, fmt.Errorf("set it aside: %w", err))
	}
	return asideError{pawl.Errorf(pawl.CodeUnavailable, "the agent's login could not be written to %s and is in %s: %w", h.File, aside, cause).
		WithHint("copy it there, or log in again")}
}
