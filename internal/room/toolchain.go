package room

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// toolchain is a folder of programs below the user's home. Tools find it by a
// variable or below HOME; as HOME is another one for commands, the variable is set.
type toolchain struct {
	variable string
	folder   string
}

// homeToolchains are the only folders of the user's home that commands see,
// beside the folders PATH names and the Go module cache. They hold programs and
// libraries; none of these tools keeps credentials in them. Cargo does, in
// ~/.cargo, which is therefore not here: ~/.cargo/bin comes from PATH.
var homeToolchains = [...]toolchain{
	{"RUSTUP_HOME", ".rustup"},
	{"PYENV_ROOT", ".pyenv"},
	{"RBENV_ROOT", ".rbenv"},
	{"NVM_DIR", ".nvm"},
	{"VOLTA_HOME", ".volta"},
	{"BUN_INSTALL", ".bun"},
	{"ASDF_DATA_DIR", ".asdf"},
	{"MISE_DATA_DIR", ".local/share/mise"},
	{"SDKMAN_DIR", ".sdkman"},
	{"UV_PYTHON_INSTALL_DIR", ".local/share/uv/python"},
	{"", ".local/share/uv/tools"},
	{"", ".local/share/pipx/venvs"},
	{"", ".local/lib"}, // pip install --user
	{"", "sdk"},        // golang.org/dl
}

// private are the folders of a home that are never shown, not even when PATH or
// a variable names something in them.
var private = [...]string{
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".config", ".password-store",
	".local/share/keyrings", ".local/state", ".mozilla", ".claude", ".codex", ".gemini",
}

// rootMarks tell that the folder above a bin folder is the root of a toolchain,
// which its programs need: Go, Node, a Python environment, Rust, a JDK, Ruby.
var rootMarks = [...]string{"pkg/tool", "lib/node_modules", "pyvenv.cfg", "lib/rustlib", "lib/modules", "lib/ruby"}

// path is PATH without relative and repeated entries.
func (h Host) path() []string {
	list := h.environ["PATH"]
	if list == "" {
		list = "/usr/local/bin:/usr/bin:/bin"
	}
	var entries []string
	for entry := range strings.SplitSeq(list, ":") {
		if filepath.IsAbs(entry) && !slices.Contains(entries, filepath.Clean(entry)) {
			entries = append(entries, filepath.Clean(entry))
		}
	}
	return entries
}

// toolchains are the home toolchains there are on this machine, where their
// variables say or where they are by default.
func (h Host) toolchains() []toolchain {
	var there []toolchain
	for _, t := range homeToolchains {
		folder := filepath.Join(h.home, t.folder)
		if v := h.environ[t.variable]; t.variable != "" && filepath.IsAbs(v) {
			folder = filepath.Clean(v)
		}
		if h.showable(folder) {
			there = append(there, toolchain{t.variable, folder})
		}
	}
	return there
}

// programs are the folders to show so that the programs on PATH run: the
// entries themselves, the roots of toolchains they belong to, and the home
// toolchains.
func (h Host) programs() []string {
	var folders []string
	for _, entry := range h.path() {
		if !h.showable(entry) {
			continue
		}
		folders = append(folders, entry)
		if root := filepath.Dir(entry); filepath.Base(entry) == "bin" && h.showable(root) && isToolchain(root) {
			folders = append(folders, root)
		}
	}
	for _, t := range h.toolchains() {
		folders = append(folders, t.folder)
	}
	if cache := h.moduleCache(); cache != "" {
		folders = append(folders, cache)
	}
	slices.Sort(folders)
	var outer []string // what lies in another of them is shown with it
	for _, folder := range folders {
		if !slices.ContainsFunc(outer, func(o string) bool { return contains(o, folder) }) {
			outer = append(outer, folder)
		}
	}
	return outer
}

func isToolchain(root string) bool {
	return slices.ContainsFunc(rootMarks[:], func(mark string) bool {
		_, err := os.Stat(filepath.Join(root, mark))
		return err == nil
	})
}

// showable reports whether a path is a folder that may be shown: not the root,
// not the home or above it, not ~/.local as a whole, nothing private. The same
// goes for what the path is a link to.
func (h Host) showable(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return false
	}
	return !h.exposes(path) && !h.exposes(real)
}

// Shows reports whether commands in a confined room see something of the machine at a path.
func (h Host) Shows(path string) bool {
	return inSystem(path) || slices.ContainsFunc(h.programs(), func(folder string) bool { return contains(folder, path) || contains(path, folder) })
}

// exposes reports whether showing a path would show what must stay hidden.
func (h Host) exposes(path string) bool {
	if state := filepath.Join(h.home, ".local", "state", "pawl"); path != state && contains(state, path) {
		return false // a project's own state: its git folder, which Pawl itself asks to show
	}
	if contains(path, h.home) || path == filepath.Join(h.home, ".local") || path == filepath.Join(h.home, ".cargo") {
		return true
	}
	for _, p := range private {
		if hidden := filepath.Join(h.home, p); contains(hidden, path) || (path != "/" && contains(path, hidden)) {
			return true
		}
	}
	return false
}

// contains reports whether path is folder or lies below it. Both are clean and absolute.
func contains(folder, path string) bool {
	return folder == "/" || path == folder || strings.HasPrefix(path, folder+"/")
}
