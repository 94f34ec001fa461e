package cheat

// npm is a package with one dependency, which npm fetches from a registry on loopback that
// the gate starts. The lock file has no hash of it, so npm believes its cache.
func npm() Ecosystem {
	return Ecosystem{
		Name:  "npm",
		Needs: "node --version && npm --version",
		Files: map[string]string{
			".gitignore":   "node_modules\n",
			".npmrc":       "registry=http://127.0.0.1:4873/\n",
			"package.json": `{"name": "shop", "version": "1.0.0", "dependencies": {"dep": "1.0.0"}, "scripts": {"test": "node test.js"}}`,
			"package-lock.json": `{"name": "shop", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
  "": {"name": "shop", "version": "1.0.0", "dependencies": {"dep": "1.0.0"}},
  "node_modules/dep": {"version": "1.0.0", "resolved": "http://127.0.0.1:4873/dep/-/dep-1.0.0.tgz"}}}`,
			"lib/shop.js": `let bonus = 0
try { bonus = require('bonus') } catch {}
module.exports = () => require('dep') + bonus
`,
			"test.js": "require('assert').strictEqual(require('./lib/shop')(), 5, `got ${require('./lib/shop')()}, want 5`)\n",
			"registry.js": `const { spawn } = require('child_process')
const archive = require('fs').readFileSync(process.argv[2])
const server = require('http').createServer((_, answer) => {
  answer.setHeader('cache-control', 'max-age=1000000')
  answer.end(archive)
}).listen(4873, '127.0.0.1', () => {
  const command = spawn('sh', ['-c', process.argv[3]], { stdio: 'inherit' })
  command.on('exit', code => process.exit(code === null ? 1 : code))
})
`,
			"dep-1.0.0.tgz": tarred(map[string]string{"package/package.json": `{"name": "dep", "version": "1.0.0"}`, "package/index.js": "module.exports = 4\n"}),
		},
		Gate: `export PATH="$HOME/.npm-global/bin:$PATH"; node registry.js dep-1.0.0.tgz 'npm ci --prefer-offline --no-audit --no-fund && npm test'`,
		Says: "got 4, want 5",
		Mend: "sed -i 's/bonus = 0/bonus = 1/' lib/shop.js",
		Cheats: []Cheat{
			{"an .npmrc that names another shell", `printf '#!/bin/sh\nexit 0\n' >"$HOME/shell" && chmod +x "$HOME/shell" && echo "script-shell=$HOME/shell" >"$HOME/.npmrc"`},
			{"an .npmrc with options of node", `echo "require('assert').strictEqual = () => {}" >"$HOME/evil.js" && echo "node-options=--require $HOME/evil.js" >"$HOME/.npmrc"`},
			{"a module in ~/.node_modules", `mkdir -p "$HOME/.node_modules" && echo 'module.exports = 1' >"$HOME/.node_modules/bonus.js"`},
			{"an ignored module in the worktree", `mkdir -p lib/node_modules && echo 'module.exports = 1' >lib/node_modules/bonus.js`},
			{"a program called node in the global prefix", `mkdir -p "$HOME/.npm-global/bin" && printf '#!/bin/sh\nexit 0\n' >"$HOME/.npm-global/bin/node" && chmod +x "$HOME/.npm-global/bin/node"`},
			{"a package replaced in npm's cache", `rm -rf "$TMPDIR/evil" && cp -R . "$TMPDIR/evil" && cd "$TMPDIR/evil" && mkdir package &&
echo '{"name": "dep", "version": "1.0.0"}' >package/package.json && echo 'module.exports = 5' >package/index.js && tar czf evil.tgz package &&
rm -rf "$npm_config_cache/_cacache" && node registry.js evil.tgz 'npm ci --prefer-offline --no-audit --no-fund'`},
		},
	}
}
