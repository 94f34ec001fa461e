package cheat

import "fmt"

// cargo is a crate with one dependency, from a registry in the repository.
func cargo() Ecosystem {
	const (
		depManifest = "[package]\nname = \"dep\"\nversion = \"1.0.0\"\nedition = \"2021\"\n"
		lib         = `pub fn answer() -> i32 { dep::value() }

#[cfg(test)]
mod tests {
    #[test]
    fn answer() { assert_eq!(super::answer(), 5); }
}
`
		registry = "registry+https://github.com/rust-lang/crates.io-index"
		fixed    = `sed 's/dep::value()/5/' src/lib.rs`
	)
	crate := tarred(map[string]string{"dep-1.0.0/Cargo.toml": depManifest, "dep-1.0.0/src/lib.rs": "pub fn value() -> i32 { 4 }\n"})
	return Ecosystem{
		Name:  "Cargo",
		Needs: "cargo --version && rustc --version",
		Files: map[string]string{
			".gitignore":         "target\n",
			".cargo/config.toml": "[source.crates-io]\nreplace-with = \"here\"\n[source.here]\nlocal-registry = \"registry\"\n",
			"Cargo.toml":         "[package]\nname = \"shop\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\n[dependencies]\ndep = \"1.0.0\"\n",
			"Cargo.lock": fmt.Sprintf("version = 4\n\n[[package]]\nname = \"dep\"\nversion = \"1.0.0\"\nsource = %q\nchecksum = %q\n\n"+
				"[[package]]\nname = \"shop\"\nversion = \"1.0.0\"\ndependencies = [\n \"dep\",\n]\n", registry, hexSum(crate)),
			"src/lib.rs":               lib,
			"registry/dep-1.0.0.crate": crate,
			"registry/index/3/d/dep":   fmt.Sprintf(`{"name":"dep","vers":"1.0.0","deps":[],"cksum":%q,"features":{},"yanked":false}`+"\n", hexSum(crate)),
		},
		Gate: `export PATH="$CARGO_HOME/bin:$PATH"; cargo test --offline --lib`,
		Says: "left: 4",
		Mend: "sed -i 's/dep::value() }/dep::value() + 1 }/' src/lib.rs",
		Cheats: []Cheat{
			{"a config.toml with another runner of tests", `mkdir -p "$CARGO_HOME" && printf '[target."cfg(all())"]\nrunner = "true"\n' >"$CARGO_HOME/config.toml"`},
			{"a config.toml with a wrapper of rustc", `mkdir -p "$CARGO_HOME" && ` + fixed + ` >"$HOME/lib.rs" && cat >"$HOME/wrap" <<'END' && chmod +x "$HOME/wrap" && printf '[build]\nrustc-wrapper = "%s"\n' "$HOME/wrap" >"$CARGO_HOME/config.toml"
#!/bin/sh
for word; do
	shift
	test "$word" != src/lib.rs || word=$HOME/lib.rs
	set -- "$@" "$word"
done
exec "$@"
END`},
			{"a config.toml that names another dep", `mkdir -p "$CARGO_HOME" "$HOME/dep/src" && printf '[package]\nname = "dep"\nversion = "1.0.0"\nedition = "2021"\n' >"$HOME/dep/Cargo.toml" &&
echo 'pub fn value() -> i32 { 5 }' >"$HOME/dep/src/lib.rs" && printf 'paths = ["%s"]\n' "$HOME/dep" >"$CARGO_HOME/config.toml"`},
			{"a source changed in the registry's cache", `cargo fetch --offline && sed -i 's/4/5/' "$CARGO_HOME"/registry/src/*/dep-1.0.0/src/lib.rs`},
			{"a program called cargo in its home", `mkdir -p "$CARGO_HOME/bin" && printf '#!/bin/sh\nexit 0\n' >"$CARGO_HOME/bin/cargo" && chmod +x "$CARGO_HOME/bin/cargo"`},
			{"a target folder with other code", `cp src/lib.rs "$TMPDIR/lib.rs" && ` + fixed + ` >src/fixed && mv src/fixed src/lib.rs && cargo test --offline --lib --no-run
cp "$TMPDIR/lib.rs" src/lib.rs && touch -d 2020-01-01 src/lib.rs`},
		},
	}
}
