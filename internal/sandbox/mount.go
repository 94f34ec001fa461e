package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pawl"
)

// mount is one thing that a confined command sees at dest.
type mount struct {
	dest string
	// option is bubblewrap's: --ro-bind, --bind, --symlink, --tmpfs, --proc, --dev.
	option string
	source string // for the first three
}

func (m mount) args() []string {
	if m.source == "" {
		return []string{m.option, m.dest}
	}
	return []string{m.option, m.source, m.dest}
}

// systemFolders hold programs and libraries for everyone.
var systemFolders = [...]string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/opt", "/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew",
}

// systemFiles are what programs need of /etc: names, certificates, the linker's
// cache, where language runtimes are. Nothing here is a credential; files that
// may hold one (npmrc, pip.conf, gitconfig) are left out.
var systemFiles = [...]string{
	"/etc/alternatives", "/etc/ca-certificates", "/etc/crypto-policies", "/etc/fonts", "/etc/group",
	"/etc/host.conf", "/etc/hosts", "/etc/java-*-openjdk", "/etc/ld.so.cache", "/etc/ld.so.conf",
	"/etc/ld.so.conf.d", "/etc/locale.alias", "/etc/localtime", "/etc/magic", "/etc/maven",
	"/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd", "/etc/perl",
	"/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf",
	"/etc/protocols", "/etc/python3*", "/etc/services", "/etc/ssl", "/etc/terminfo", "/etc/timezone",
}

// mounts is all a confined command sees, parents before what lies in them. Where
// two have the same place, the later of this function's list is meant: a
// worktree below /opt is writable.
func (b *box) mounts(cmd pawl.Command) ([]mount, error) {
	var list []mount
	for _, folder := range systemFolders {
		if target, err := os.Readlink(folder); err == nil {
			list = append(list, mount{folder, "--symlink", target})
		} else if _, err := os.Stat(folder); err == nil {
			list = append(list, mount{folder, "--ro-bind", folder})
		}
	}
	for _, pattern := range systemFiles {
		found, _ := filepath.Glob(pattern) // the patterns are ours and well-formed
		for _, file := range found {
			list = appendVisible(list, file)
		}
	}
	if _, err := os.Stat("/etc/ssl/private"); err == nil {
		list = append(list, mount{dest: "/etc/ssl/private", option: "--tmpfs"})
	}
	if cmd.Network {
		list = appendVisible(list, "/etc/resolv.conf")
	}
	for _, folder := range b.host.programs() {
		if !inSystem(folder) {
			list = appendVisible(list, folder)
		}
	}
	list = append(list,
		mount{dest: "/dev", option: "--dev"},
		mount{dest: "/proc", option: "--proc"},
		// Root could otherwise write to the machine's settings: /proc/sys belongs to uid 0.
		mount{"/proc/sys", "--ro-bind", "/proc/sys"},
		mount{dest: "/tmp", option: "--tmpfs"},
	)
	for _, path := range cmd.Visible {
		list = appendVisible(list, path)
	}
	workFolders, err := workMounts(cmd)
	if err != nil {
		return nil, err
	}
	return inOrder(append(list, workFolders...)), nil
}

// workMounts are the command's own folders: Dir with its .git protected, and Temp.
func workMounts(cmd pawl.Command) ([]mount, error) {
	option := "--bind"
	if cmd.ReadOnly {
		option = "--ro-bind"
	}
	list := []mount{{cmd.Dir, option, cmd.Dir}, {cmd.Temp, "--bind", cmd.Temp}}
	git := filepath.Join(cmd.Dir, ".git")
	info, err := os.Lstat(git)
	if errors.Is(err, fs.ErrNotExist) {
		return list, nil
	}
	if err != nil {
		return nil, fmt.Errorf("run command: %w", err)
	}
	if info.Mode()&os.ModeSymlink != 0 {
		// Only what a link points to can be mounted read-only, never the link.
		return nil, pawl.Errorf(pawl.CodeState, "run command: %s is a symbolic link; it must be a file or a folder to be protected", git)
	}
	return append(list, mount{git, "--ro-bind", git}), nil
}

// appendVisible shows a path read-only at its own place. Links on the way are
// followed outside, where they lead to something.
func appendVisible(list []mount, path string) []mount {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return list
	}
	return append(list, mount{path, "--ro-bind", real})
}

func inSystem(path string) bool {
	return slices.ContainsFunc(systemFolders[:], func(folder string) bool { return contains(folder, path) })
}

// inOrder sorts by place, so that a parent comes before what lies in it, and
// keeps the last of those with the same place.
func inOrder(list []mount) []mount {
	slices.SortStableFunc(list, func(a, b mount) int { return strings.Compare(a.dest, b.dest) })
	var kept []mount
	for i, m := range list {
		if i+1 == len(list) || list[i+1].dest != m.dest {
			kept = append(kept, m)
		}
	}
	return kept
}
