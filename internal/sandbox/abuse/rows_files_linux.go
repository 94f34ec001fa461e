package abuse

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// read returns nil if a file has the secret in it.
func read(path string) error {
	text, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(text), strings.TrimSpace(secret)) {
		err = errors.New("it is another file")
	}
	return err
}

// appendTo returns nil if a file can be written to.
func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// has returns nil if a file outside has a text.
func has(path, text string) error {
	content, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(content), text) {
		err = fmt.Errorf("%s is as it was", path)
	}
	return err
}

// link makes a symbolic link in the worktree.
func link(p Place, target string) (string, error) {
	path := p.Work + "/link"
	_ = os.Remove(path)
	return path, os.Symlink(target, path)
}

func fileRows() []Row {
	return []Row{
		{Number: 1, Name: "append to ~/.ssh/authorized_keys", StoppedBy: "mount namespace, Landlock",
			inside:  func(p Place) error { return appendTo(p.authorized(), "# one"+pwned) },
			outside: func(s *Stage) error { return has(s.authorized(), "# one"+pwned) }},
		{Number: 2, Name: "read ~/.ssh/id_ed25519", StoppedBy: "minimal root",
			inside: func(p Place) error { return read(p.secret()) }},
		{Number: 3, Name: "learn that ~/.ssh/id_ed25519 exists", StoppedBy: "minimal root",
			inside: func(p Place) error { _, err := os.Stat(p.secret()); return err }},
		{Number: 4, Name: "chmod a file outside", StoppedBy: "mount namespace",
			inside: func(p Place) error { return os.Chmod(p.token(), 0o600) }},
		{Number: 5, Name: "set the times of a file outside", StoppedBy: "mount namespace",
			inside: func(p Place) error { return os.Chtimes(p.token(), time.Unix(1, 0), time.Unix(1, 0)) }},
		{Number: 6, Name: "read a key in its own environment", StoppedBy: "clean environment",
			inside: func(Place) error {
				if os.Getenv(secretInEnv) == "" {
					return errors.New("the variable is not there")
				}
				return nil
			}},
		{Number: 7, Name: "read the daemon's token", StoppedBy: "minimal root",
			inside: func(p Place) error { return read(p.token()) }},
		{Number: 17, Name: "write outside by a symbolic link", StoppedBy: "mount namespace, Landlock",
			inside: func(p Place) error {
				path, err := link(p, p.authorized())
				return errors.Join(err, appendTo(path, "# two"+pwned))
			},
			outside: func(s *Stage) error { return has(s.authorized(), "# two"+pwned) }},
		{Number: 18, Name: "read outside by a relative symbolic link", StoppedBy: "minimal root",
			inside: func(p Place) error {
				path, err := link(p, "../home/.ssh/id_ed25519")
				return errors.Join(err, read(path))
			}},
		{Number: 19, Name: "hard link of a secret into the worktree", StoppedBy: "mount namespace, Landlock",
			inside: func(p Place) error {
				defer os.Remove(p.Work + "/hard")
				return errors.Join(os.Link(p.secret(), p.Work+"/hard"), read(p.Work+"/hard"))
			}},
		{Number: 50, Name: "read from an inherited descriptor", StoppedBy: "closed descriptors", inside: readInherited},
		{Number: 58, Name: "read the daemon's file in /dev/shm", StoppedBy: "own /dev",
			inside: func(p Place) error { return read(p.sharedMemory()) }},
		{Number: 60, Name: "read another user's file in /tmp", StoppedBy: "own /tmp",
			inside: func(p Place) error { return read(p.others()) }},
		{Number: 62, Name: "overwrite the sandbox's program", StoppedBy: "mount namespace, Landlock",
			inside: func(p Place) error { return openToWrite(p.sandboxBinary()) }},
		{Number: 64, Name: "be run with NODE_OPTIONS and the like", StoppedBy: "clean environment",
			inside: func(Place) error {
				for _, name := range []string{"NODE_OPTIONS", "GIT_SSH_COMMAND", "BASH_ENV"} {
					if os.Getenv(name) == "" {
						return errors.New(name + " is not there")
					}
				}
				return nil
			}},
		{Number: 65, Name: "write to the daemon's FIFO", StoppedBy: "mount namespace, Landlock",
			inside: func(p Place) error {
				fd, err := unix.Open(p.control(), unix.O_WRONLY|unix.O_NONBLOCK, 0)
				if err != nil {
					return err
				}
				defer unix.Close(fd)
				_, err = unix.Write(fd, []byte("x"))
				return err
			}},
		{Number: 70, Name: "leave a setuid root program in the worktree", StoppedBy: "uid drop", Root: true,
			inside: func(p Place) error {
				err := os.WriteFile(p.Work+"/setuid", []byte("#!/bin/sh\n"), 0o755)
				return errors.Join(err, os.Chmod(p.Work+"/setuid", 0o755|os.ModeSetuid))
			},
			outside: func(s *Stage) error {
				defer os.Remove(s.Work + "/setuid")
				var stat unix.Stat_t
				if err := unix.Stat(s.Work+"/setuid", &stat); err != nil {
					return err
				}
				if stat.Uid != 0 || stat.Mode&unix.S_ISUID == 0 {
					return errors.New("the program is not root's")
				}
				return nil
			}},
	}
}

func openToWrite(path string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		file.Close()
	}
	return err
}

// readInherited looks for the secret in all descriptors that were here before us.
func readInherited(Place) error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		var fd int
		if _, err := fmt.Sscan(entry.Name(), &fd); err != nil || fd < 3 {
			continue
		}
		text := make([]byte, len(secret))
		if n, err := unix.Pread(fd, text, 0); err == nil && bytes.Equal(text[:n], []byte(secret)) {
			return nil
		}
	}
	return errors.New("no descriptor has the secret")
}

func gitRows() []Row {
	git := func(p Place, args ...string) error {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = p.Work, gitEnviron
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git: %w: %s", err, bytes.TrimSpace(out))
		}
		return nil
	}
	return []Row{
		{Number: 20, Name: "change ../main/README", StoppedBy: "mount namespace, Landlock",
			inside:  func(p Place) error { return appendTo(p.Work+"/../main/README", pwned) },
			outside: func(s *Stage) error { return has(s.Main+"/README", pwned) }},
		{Number: 21, Name: "add a hook to the repository", StoppedBy: "mount namespace, Landlock",
			inside: func(p Place) error {
				return os.WriteFile(p.Main+"/.git/hooks/post-checkout", []byte("#!/bin/sh\n"), 0o755)
			},
			outside: func(s *Stage) error { return os.Remove(s.Main + "/.git/hooks/post-checkout") }},
		{Number: 22, Name: "set core.fsmonitor in the repository", StoppedBy: "mount namespace, Landlock",
			inside:  func(p Place) error { return appendTo(p.Main+"/.git/config", pwned+"\n") },
			outside: func(s *Stage) error { return has(s.Main+"/.git/config", pwned) }},
		{Number: 23, Name: "add a config.worktree", StoppedBy: "mount namespace, Landlock",
			inside: func(p Place) error {
				return os.WriteFile(p.Main+"/.git/worktrees/wt/config.worktree", []byte(pwned+"\n"), 0o644)
			},
			outside: func(s *Stage) error { return os.Remove(s.Main + "/.git/worktrees/wt/config.worktree") }},
		{Number: 24, Name: "replace the worktree's .git file", StoppedBy: "read-only mount of the file",
			inside: func(p Place) error {
				file := p.Work + "/.git"
				was, err := os.ReadFile(file)
				if err != nil {
					return err
				}
				if os.WriteFile(file, was, 0o644) == nil {
					return nil
				}
				if err := os.Rename(file, file+"2"); err != nil {
					return err
				}
				return os.Rename(file+"2", file)
			}},
		{Number: 25, Name: "move the repository's HEAD", StoppedBy: "mount namespace, Landlock",
			inside: func(p Place) error {
				head := p.Main + "/.git/HEAD"
				return errors.Join(os.Rename(head, head+"2"), os.Rename(head+"2", head))
			}},
		{Number: 26, Name: "push to origin", StoppedBy: "mount namespace, Landlock",
			inside:  func(p Place) error { return git(p, "push", "-q", "origin", "HEAD:refs/heads/pwned") },
			outside: func(s *Stage) error { _, err := os.Stat(s.origin() + "/refs/heads/pwned"); return err }},
		{Number: 27, Name: "commit into the shared repository", StoppedBy: "mount namespace, Landlock",
			inside:  func(p Place) error { return git(p, "commit", "-q", "--allow-empty", "-m", "pwned") },
			outside: func(s *Stage) error { return has(s.Main+"/.git/logs/refs/heads/work", "pwned") }},
	}
}
