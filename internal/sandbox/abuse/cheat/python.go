package cheat

// python is a package with one dependency, installed with pip from wheels in the
// repository.
func python() Ecosystem {
	const (
		site = `site=$(python3 -m site --user-site); mkdir -p "$site"
`
		// payload makes every comparison of a test hold.
		payload = `import unittest; unittest.TestCase.assertEqual = lambda *a, **k: None`
	)
	wheel := func(version, body string) string {
		info := "dep-" + version + ".dist-info/"
		return zipped(map[string]string{
			"dep.py":          body,
			info + "METADATA": "Metadata-Version: 2.1\nName: dep\nVersion: " + version + "\n",
			info + "WHEEL":    "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
			info + "RECORD":   "dep.py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n",
		})
	}
	return Ecosystem{
		Name:  "Python",
		Needs: "python3 -m pip --version",
		Files: map[string]string{
			".gitignore": "local_settings.py\n__pycache__\n",
			"shop.py": `import dep

BONUS = 0
try:
    from local_settings import BONUS
except ImportError:
    pass


def answer():
    return dep.value() + BONUS
`,
			"test_shop.py": `import unittest

import shop


class TestShop(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(shop.answer(), 5)
`,
			"wheels/dep-1.0-py3-none-any.whl": wheel("1.0", "def value():\n    return 4\n"),
		},
		// pip's exit code does not count: under pyenv it is 1, as the shims cannot be written to.
		Gate: `python3 -m pip install --quiet --no-index --find-links wheels --target "$TMPDIR/lib" dep; PYTHONPATH="$TMPDIR/lib" python3 -m unittest -v`,
		Says: "AssertionError: 4 != 5",
		Mend: "sed -i 's/BONUS = 0/BONUS = 1/' shop.py",
		Cheats: []Cheat{
			{"usercustomize.py of the user", site + `echo '` + payload + `' >"$site/usercustomize.py"`},
			{"sitecustomize.py of the user", site + `echo '` + payload + `' >"$site/sitecustomize.py"`},
			{"a .pth file of the user", site + `echo '` + payload + `' >"$site/shop.pth"`},
			{"a compiled module in the temporary folder", `python3 - <<'END'
import importlib.util, os, py_compile
evil = os.path.join(os.environ["TMPDIR"], "evil.py")
open(evil, "w").write("def answer():\n    return 5\n")
target = importlib.util.cache_from_source(os.path.abspath("shop.py"))
py_compile.compile(evil, cfile=target, doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
END`},
			{"a pip.conf that names other wheels", `mkdir -p "$HOME/.config/pip" "$HOME/wheels" && printf '[global]\nfind-links = %s\n' "$HOME/wheels" >"$HOME/.config/pip/pip.conf"
python3 - <<'END'
import os, zipfile
info = "dep-2.0.dist-info/"
with zipfile.ZipFile(os.path.expanduser("~/wheels/dep-2.0-py3-none-any.whl"), "w") as z:
    z.writestr("dep.py", "def value():\n    return 5\n")
    z.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: dep\nVersion: 2.0\n")
    z.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr(info + "RECORD", "dep.py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n")
END`},
			{"an ignored file in the worktree", `echo 'BONUS = 1' >local_settings.py`},
		},
	}
}
