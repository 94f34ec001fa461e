package ecosystem

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Where packages come from is where the user's own clients get them. No credential
// is in what is passed on.
func TestRegistries(t *testing.T) {
	for _, c := range []struct {
		name      string
		ecosystem string
		files     []string // below the home, "name=content"
		environ   []string
		rules     []string
		variables []string
		notes     []string // parts of them, in order
	}{
		{name: "npm", ecosystem: "npm", rules: []string{"registry.npmjs.org:443"}},
		{name: "npm by its file", ecosystem: "npm", files: []string{".npmrc=; mine\nregistry = https://npm.corp/path/\n//npm.corp/path/:_authToken=sekret\n"},
			rules: []string{"npm.corp:443"}, variables: []string{"npm_config_registry=https://npm.corp/path/", "pnpm_config_registry=https://npm.corp/path/", "BUN_CONFIG_REGISTRY=https://npm.corp/path/"},
			notes: []string{"~/.npmrc has a token for npm.corp: credentials are not passed to rooms"}},
		{name: "npm by a variable", ecosystem: "pnpm", files: []string{".npmrc=registry=https://other.corp\n"}, environ: []string{"npm_config_registry=http://u:sekret@NPM.corp:4873/"},
			rules: []string{"npm.corp:4873"}, variables: []string{"npm_config_registry=http://NPM.corp:4873/", "pnpm_config_registry=http://NPM.corp:4873/", "BUN_CONFIG_REGISTRY=http://NPM.corp:4873/"},
			notes: []string{"npm_config_registry has credentials for NPM.corp"}},
		{name: "npm without TLS", ecosystem: "npm", environ: []string{"npm_config_registry=http://npm.corp/"},
			rules: []string{"npm.corp:80"}, variables: []string{"npm_config_registry=http://npm.corp/", "pnpm_config_registry=http://npm.corp/", "BUN_CONFIG_REGISTRY=http://npm.corp/"}},
		{name: "npm with a variable in its file", ecosystem: "npm", files: []string{".npmrc=registry=${MY_REGISTRY}\n"}, environ: []string{"MY_REGISTRY=https://npm.corp"},
			rules: []string{"npm.corp:443"}, variables: []string{"npm_config_registry=https://npm.corp", "pnpm_config_registry=https://npm.corp", "BUN_CONFIG_REGISTRY=https://npm.corp"}},
		{name: "npm with a scope", ecosystem: "npm", files: []string{".npmrc=@corp:registry=https://npm.corp\n"},
			rules: []string{"npm.corp:443", "registry.npmjs.org:443"}, notes: []string{"a registry for @corp"}},
		{name: "pnpm by a variable", ecosystem: "pnpm", environ: []string{"pnpm_config_registry=https://npm.corp"},
			rules: []string{"npm.corp:443"}, variables: []string{"npm_config_registry=https://npm.corp", "pnpm_config_registry=https://npm.corp", "BUN_CONFIG_REGISTRY=https://npm.corp"}},
		{name: "npm on this machine", ecosystem: "npm", environ: []string{"npm_config_registry=http://localhost:4873"},
			rules: []string{"registry.npmjs.org:443"}, notes: []string{"localhost:4873 on this machine: rooms cannot reach it; to let them, give it a name that the egress rule NAME:4873=127.0.0.1"}},
		{name: "npm in a folder", ecosystem: "npm", environ: []string{"npm_config_registry=file:///srv"}, rules: []string{"registry.npmjs.org:443"}, notes: []string{"not an http address"}},
		{name: "npm at a port that is none", ecosystem: "npm", environ: []string{"npm_config_registry=https://npm.corp:65536/"}, rules: []string{"registry.npmjs.org:443"}, notes: []string{"port 65536, and there is no such port"}}, // F-123
		{name: "yarn", ecosystem: "yarn", files: []string{".yarnrc.yml=npmRegistryServer: \"https://npm.corp\"\nnpmAuthToken: sekret\n"},
			rules:     []string{"npm.corp:443"},
			variables: []string{"YARN_NPM_REGISTRY_SERVER=https://npm.corp", "YARN_REGISTRY=https://npm.corp", "npm_config_registry=https://npm.corp"}, notes: []string{"~/.yarnrc.yml has a token"}},
		{name: "yarn by npm's file", ecosystem: "yarn", files: []string{".npmrc=registry=https://npm.corp\n"}, rules: []string{"npm.corp:443"},
			variables: []string{"YARN_NPM_REGISTRY_SERVER=https://npm.corp", "YARN_REGISTRY=https://npm.corp", "npm_config_registry=https://npm.corp"}},
		{name: "Go", ecosystem: "go", rules: []string{"proxy.golang.org:443", "sum.golang.org:443"}},
		{name: "Go by a variable", ecosystem: "go", environ: []string{"GOPROXY=https://u:sekret@goproxy.corp,https://proxy.golang.org|direct"},
			rules: []string{"goproxy.corp:443", "proxy.golang.org:443", "sum.golang.org:443"}, variables: []string{"GOPROXY=https://goproxy.corp,https://proxy.golang.org|direct"},
			notes: []string{"GOPROXY has credentials for goproxy.corp"}},
		{name: "Go by its file", ecosystem: "go", files: []string{".config/go/env=GOPROXY=https://goproxy.corp\nGOSUMDB=off\n"},
			rules: []string{"goproxy.corp:443"}, variables: []string{"GOPROXY=https://goproxy.corp", "GOSUMDB=off"}},
		{name: "Go with modules of one's own", ecosystem: "go", files: []string{"go.env=GOPROXY=https://goproxy.corp\nGOPRIVATE=corp.test\nGONOSUMDB=corp.test/*\n"}, environ: []string{"GOENV=HOME/go.env", "GOPRIVATE=mine.test"},
			rules: []string{"goproxy.corp:443", "sum.golang.org:443"}, variables: []string{"GONOSUMDB=corp.test/*", "GOPROXY=https://goproxy.corp"}},
		{name: "Go with modules of one's own in its file", ecosystem: "go", files: []string{".config/go/env=GOPROXY=https://goproxy.corp\nGOPRIVATE=corp.test\n"},
			rules: []string{"goproxy.corp:443", "sum.golang.org:443"}, variables: []string{"GOPRIVATE=corp.test", "GOPROXY=https://goproxy.corp"}},
		{name: "Go with a checksum database of one's own", ecosystem: "go", files: []string{".config/go/env=GOPROXY=https://goproxy.corp\nGOSUMDB=sum.corp+033de0ae+Ac4z https://u:sekret@sums.corp/db\n"},
			rules: []string{"goproxy.corp:443", "sums.corp:443"}, variables: []string{"GOPROXY=https://goproxy.corp", "GOSUMDB=sum.corp+033de0ae+Ac4z https://sums.corp/db"},
			notes: []string{"~/.config/go/env has credentials for sums.corp"}},
		{name: "Go with a checksum database alone", ecosystem: "go", files: []string{".config/go/env=GOSUMDB=sum.golang.org https://sums.corp\n"},
			rules: []string{"proxy.golang.org:443", "sum.golang.org:443", "sums.corp:443"}, variables: []string{"GOSUMDB=sum.golang.org https://sums.corp"}},
		{name: "Go with a checksum database by a variable", ecosystem: "go", environ: []string{"GOPROXY=https://goproxy.corp", "GOSUMDB=sum.corp+033de0ae+Ac4z https://u:sekret@sums.corp/db"},
			rules: []string{"goproxy.corp:443", "sums.corp:443"}, variables: []string{"GOPROXY=https://goproxy.corp"},
			notes: []string{"GOSUMDB has credentials for sums.corp"}},
		{name: "Go offline", ecosystem: "go", environ: []string{"GOPROXY=off"}, rules: []string{"sum.golang.org:443"}, variables: []string{"GOPROXY=off"}},
		{name: "cargo", ecosystem: "cargo", rules: []string{"index.crates.io:443", "static.crates.io:443"}},
		{name: "cargo with a replacement", ecosystem: "cargo", files: []string{".cargo/config.toml=[source.crates-io]\nreplace-with = \"mirror\" # near\n[source.mirror]\nregistry = \"sparse+https://crates.corp/index/\"\n"},
			rules: []string{"index.crates.io:443", "static.crates.io:443", "crates.corp:443"}, notes: []string{"replaces crates.io by mirror"}},
		{name: "cargo with a replacement of a replacement", ecosystem: "cargo", files: []string{".cargo/config.toml=[source.crates-io]\nreplace-with = \"near\"\n[source.near]\nreplace-with = \"far\"\n[source.far]\nregistry = \"sparse+https://crates.corp/index/\"\n"},
			rules: []string{"index.crates.io:443", "static.crates.io:443", "crates.corp:443"}, notes: []string{"replaces crates.io by far"}},
		{name: "cargo with a registry", ecosystem: "cargo", files: []string{".cargo/config.toml=[registries.my-corp]\nindex = \"sparse+https://crates.corp/index/\"\ntoken = \"sekret\"\n"},
			environ:   []string{"CARGO_REGISTRIES_OTHER_INDEX=sparse+https://u:sekret@other.corp/"},
			rules:     []string{"other.corp:443", "crates.corp:443", "index.crates.io:443", "static.crates.io:443"},
			variables: []string{"CARGO_REGISTRIES_OTHER_INDEX=sparse+https://other.corp/", "CARGO_REGISTRIES_MY_CORP_INDEX=sparse+https://crates.corp/index/"},
			notes:     []string{"has a token", "CARGO_REGISTRIES_OTHER_INDEX has credentials"}},
		{name: "cargo replaced in a circle", ecosystem: "cargo", files: []string{".cargo/config.toml=[source.crates-io]\nreplace-with='a'\n[source.a]\nreplace-with='crates-io'\n"},
			rules: []string{"index.crates.io:443", "static.crates.io:443"}},
		{name: "pip", ecosystem: "pip", rules: []string{"pypi.org:443", "files.pythonhosted.org:443"}},
		{name: "pip by its file", ecosystem: "pip", files: []string{".config/pip/pip.conf=[search]\nextra-index-url = https://elsewhere.corp\n[global]\nindex-url = https://u:sekret@pypi.corp/simple\nextra-index-url = https://more.corp/simple\n"},
			rules: []string{"pypi.corp:443", "more.corp:443"}, variables: []string{"PIP_INDEX_URL=https://pypi.corp/simple", "PIP_EXTRA_INDEX_URL=https://more.corp/simple"},
			notes: []string{"~/.config/pip/pip.conf has credentials for pypi.corp"}},
		{name: "pip without TLS", ecosystem: "pip", files: []string{"xdg/pip/pip.conf=[global]\nindex-url = http://pypi.corp:3141/simple\ntrusted-host = pypi.corp\n"}, environ: []string{"XDG_CONFIG_HOME=HOME/xdg"},
			rules: []string{"pypi.corp:3141"}, variables: []string{"PIP_INDEX_URL=http://pypi.corp:3141/simple", "PIP_TRUSTED_HOST=pypi.corp"}},
		{name: "poetry by pip's variable", ecosystem: "poetry", environ: []string{"PIP_INDEX_URL=https://pypi.corp/simple?token=sekret"},
			rules: []string{"pypi.corp:443"}, variables: []string{"PIP_INDEX_URL=https://pypi.corp/simple"}, notes: []string{"has parameters"}},
		{name: "uv by its file", ecosystem: "uv", files: []string{".config/uv/uv.toml=[[index]]\nname = \"corp\"\nurl = \"https://pypi.corp/simple\"\ndefault = true\n[[index]]\nurl = \"https://more.corp/simple\"\ndefault = false\n[pip]\nall-extras = true\n"},
			rules: []string{"pypi.corp:443", "more.corp:443"}, variables: []string{"UV_DEFAULT_INDEX=https://pypi.corp/simple", "UV_INDEX=https://more.corp/simple"}},
		{name: "uv by variables", ecosystem: "uv", environ: []string{"UV_INDEX_URL=https://pypi.corp/simple", "UV_INDEX=corp=https://more.corp/simple", "UV_INDEX_CORP_PASSWORD=sekret"},
			rules: []string{"pypi.corp:443", "more.corp:443"}, variables: []string{"UV_DEFAULT_INDEX=https://pypi.corp/simple", "UV_INDEX=https://more.corp/simple"},
			notes: []string{"UV_INDEX_…_PASSWORD"}},
		{name: "bundler for all", ecosystem: "bundler", files: []string{".bundle/config=---\nBUNDLE_MIRROR__ALL: \"https://gems.corp/\"\n"},
			rules: []string{"rubygems.org:443", "index.rubygems.org:443", "gems.corp:443"}, variables: []string{"BUNDLE_MIRROR__ALL=https://gems.corp/"}},
		{name: "bundler", ecosystem: "bundler", files: []string{".bundle/config=---\nBUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: \"https://gems.corp/\"\nBUNDLE_GEMS__CORP: \"u:sekret\"\n"},
			rules: []string{"rubygems.org:443", "index.rubygems.org:443", "gems.corp:443"}, notes: []string{"has a mirror of https://rubygems.org/"}},
		{name: "composer", ecosystem: "composer", files: []string{`.config/composer/config.json={"repositories": {"packagist.org": false, "corp": {"type": "composer", "url": "https://packages.corp"}}}`},
			rules: []string{"repo.packagist.org:443", "packagist.org:443", "api.github.com:443", "codeload.github.com:443", "packages.corp:443"}, notes: []string{"~/.config/composer/config.json names a repository"}},
		{name: "Maven", ecosystem: "maven", files: []string{`.m2/settings.xml=<settings xmlns="http://maven.apache.org/SETTINGS/1.2.0"><servers><server><id>corp</id><password>sekret</password></server></servers><mirrors><mirror><url>https://maven.corp/central</url></mirror></mirrors></settings>`},
			rules: []string{"repo.maven.apache.org:443", "maven.corp:443"}, notes: []string{"has a mirror", "has credentials of servers"}},
		{name: "Gradle", ecosystem: "gradle", rules: []string{"repo.maven.apache.org:443", "plugins.gradle.org:443", "plugins-artifacts.gradle.org:443", "services.gradle.org:443", "downloads.gradle.org:443"}},
		{name: "NuGet", ecosystem: "dotnet", files: []string{`.nuget/NuGet/NuGet.Config=<configuration><packageSources><add key="corp" value="https://nuget.corp/v3/index.json"/><add key="disk" value="/srv"/></packageSources><packageSourceCredentials><corp/></packageSourceCredentials></configuration>`},
			rules: []string{"api.nuget.org:443", "nuget.corp:443"}, notes: []string{"names a source", "has credentials of sources"}},
		{name: "credentials in netrc", ecosystem: "npm", files: []string{".netrc=machine registry.npmjs.org login u password sekret\nmachine elsewhere.corp login u password sekret\n"},
			rules: []string{"registry.npmjs.org:443"}, notes: []string{"~/.netrc has credentials for registry.npmjs.org"}},
		{name: "broken files", ecosystem: "maven", files: []string{".m2/settings.xml=<settings"}, rules: []string{"repo.maven.apache.org:443"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			for _, file := range c.files {
				name, text, _ := strings.Cut(file, "=")
				name = filepath.Join(home, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for i, v := range c.environ {
				c.environ[i] = strings.ReplaceAll(v, "=HOME/", "="+home+"/")
			}
			rules, variables, notes := Registries(Project{Parts: []Part{{Ecosystem: c.ecosystem, Folder: "."}, {Ecosystem: c.ecosystem, Folder: "web"}}}, Client{Environ: c.environ, Home: home})
			if d := cmp.Diff(c.rules, rules); d != "" {
				t.Errorf("rules (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.variables, variables); d != "" {
				t.Errorf("variables (-want +got):\n%s", d)
			}
			for i, note := range notes {
				if i >= len(c.notes) || !strings.Contains(note, c.notes[i]) {
					t.Errorf("note: %s", note)
				}
			}
			if len(notes) < len(c.notes) {
				t.Errorf("notes: %q, want %q", notes, c.notes)
			}
			for _, s := range append(append(rules, variables...), notes...) {
				if strings.Contains(s, "sekret") {
					t.Errorf("a credential is passed on: %s", s)
				}
			}
		})
	}
}

// Two languages have the registries of both, each once; a Makefile has none.
func TestRegistriesOfManyParts(t *testing.T) {
	rules, variables, notes := Registries(Project{Parts: []Part{{Ecosystem: "pip"}, {Ecosystem: "uv"}, {Ecosystem: "bun"}, {Ecosystem: "make"}, {Ecosystem: "unknown"}}}, Client{})
	if d := cmp.Diff([]string{"pypi.org:443", "files.pythonhosted.org:443", "registry.npmjs.org:443"}, rules); d != "" {
		t.Error(d)
	}
	if variables != nil || notes != nil {
		t.Errorf("%q, %q", variables, notes)
	}
}
