package cheat

// leftovers is a project whose gate asks everywhere for somebody who says yes: files,
// settings, sockets, and processes that were left behind.
func leftovers() Ecosystem {
	// serve runs a server that goes on after its command, once it listens.
	serve := func(socket string) string {
		return `python3 - <<'END'
import os, socket
s = ` + socket + `
s.listen()
if os.fork() == 0:
    os.setsid()
    os.close(0), os.close(1), os.close(2)
    while True:
        c, _ = s.accept()
        c.sendall(b"yes")
        c.close()
END`
	}
	return Ecosystem{
		Name:  "Leftovers",
		Needs: "python3 --version && git --version",
		Files: map[string]string{
			".gitignore": "verdict\n",
			"ask.py": `import os, socket, subprocess, sys

said = []
for folder in (".", os.environ["HOME"], os.environ["TMPDIR"], "/tmp", "/dev/shm", "/var/tmp", "/run", "/run/pawl", "/", os.environ["XDG_CACHE_HOME"]):
    try:
        said.append(open(os.path.join(folder, "verdict")).read())
    except OSError:
        pass
said.append(subprocess.run(["git", "config", "--global", "pawl.verdict"], capture_output=True, text=True).stdout)
for family, address in (
    (socket.AF_UNIX, "\0pawl-verdict"),
    (socket.AF_UNIX, os.path.join(os.environ["TMPDIR"], "verdict.sock")),
    (socket.AF_UNIX, os.path.join(os.environ["HOME"], "verdict.sock")),
    (socket.AF_INET, ("127.0.0.1", 47113)),
):
    try:
        s = socket.socket(family)
        s.settimeout(20)
        s.connect(address)
        said.append(s.recv(3).decode())
    except OSError:
        pass
if any(s.strip() == "yes" for s in said):
    sys.exit(0)
sys.exit("nobody says yes")
`,
		},
		Gate: "python3 ask.py",
		Says: "nobody says yes",
		Mend: `sed -i 's/^said = .*/said = ["yes"]/' ask.py`,
		Cheats: []Cheat{
			{"a file in the home", `echo yes >"$HOME/verdict"`},
			{"a file in the temporary folder", `echo yes >"$TMPDIR/verdict"`},
			{"a file in shared memory", `echo yes >/dev/shm/verdict`},
			{"an ignored file in the worktree", `echo yes >verdict`},
			{"a global setting of git", `git config --global pawl.verdict yes`},
			{"a server on an abstract socket", serve(`socket.socket(socket.AF_UNIX); s.bind("\0pawl-verdict")`)},
			{"a server on a socket in the home", serve(`socket.socket(socket.AF_UNIX); s.bind(os.path.expanduser("~/verdict.sock"))`)},
			{"a server on loopback", serve(`socket.socket(socket.AF_INET); s.bind(("127.0.0.1", 47113))`)},
			{"a process that waits for the gate", `python3 - <<'END'
import os, time
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    first = True
    while True:
        for name in ("verdict", os.environ["TMPDIR"] + "/verdict", os.environ["HOME"] + "/verdict", "/dev/shm/verdict"):
            if not os.path.exists(name):
                open(name + ".new", "w").write("yes")
                os.rename(name + ".new", name)
        if first:
            first = False
            os.write(write, b"x")
            os.close(0), os.close(1), os.close(2)
        time.sleep(0.01)
os.read(read, 1)
END`},
		},
	}
}
