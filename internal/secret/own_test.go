package secret

import (
	"encoding/json"
	"strings"
	"testing"
)

// Made-up passwords.
const (
	word  = "k3Jw8" + "Rt5Yh"
	coded = "YW5uYTpr" + "M0p3OFJ0NVlo"
	crypt = "7bN4tR8wKz" + "X9qL2mV7bN4t"
)

// F-107: passwords in addresses, and in the files where programs keep them, are secrets by their form, whatever
// the file is called.
func TestOwnRules(t *testing.T) {
	for name, c := range map[string]struct{ text, rule, secret string }{
		"Postgres":        {"db = connect('postgres://shop:" + word + "@db.example.org:5432/shop')", "url-password", word},
		"MySQL":           {"DATABASE_URL=mysql://shop:" + word + "@localhost/shop", "url-password", word},
		"Redis":           {"redis://:" + word + "@cache:6379/0", "url-password", word},
		"Mongo":           {"mongodb+srv://app:" + word + "@cluster0.example.net/x", "url-password", word},
		"HTTPS":           {"git clone https://anna:" + word + "@git.example.org/a.git", "url-password", word},
		"GitCredentials":  {"https://anna:" + word + "@git.example.org\n", "url-password", word},
		"JDBC":            {"jdbc:postgresql://db/shop?user=anna&password=" + word, "url-password", word},
		"ADO":             {"Server=db;User Id=anna;Password=" + word + ";", "url-password", word},
		"Netrc":           {"machine api.example.org login anna password " + word + "\n", "netrc-password", word},
		"NetrcLines":      {"machine api.example.org\n  login anna\n  password " + word + "\n", "netrc-password", word},
		"NetrcDefault":    {"default login anna password " + word + "\n", "netrc-password", word},
		"HtpasswdMD5":     {"anna:$apr1$Zx9qL2mV$" + crypt + "\n", "password-hash", "$apr1$Zx9qL2mV$" + crypt},
		"HtpasswdBcrypt":  {"anna:$2y$05$" + crypt + crypt + "123456789\n", "password-hash", "$2y$05$" + crypt + crypt + "123456789"},
		"HtpasswdSHA":     {"anna:{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n", "password-hash", "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g="},
		"Shadow":          {"root:$6$Zx9qL2mV$" + crypt + crypt + ":19000:0:99999:7:::\n", "password-hash", "$6$Zx9qL2mV$" + crypt + crypt},
		"KubeKey":         {"    client-key-data: LS0tLS1C" + coded + "==\n", "kubeconfig", "LS0tLS1C" + coded + "=="},
		"KubeToken":       {"users:\n- name: a\n  user:\n    token: " + word + "\n", "kubeconfig", word},
		"KubePassword":    {"users:\n- name: a\n  user:\n    username: anna\n    password: " + word + "\n", "kubeconfig", word},
		"Pgpass":          {"db.example.org:5432:shop:anna:" + word + "\n", "pgpass", word},
		"PgpassAny":       {"*:*:*:anna:" + word + "\n", "pgpass", word},
		"Docker":          {`{"auths": {"r.example.org": {"auth": "` + coded + `"}}}`, "docker-auth", coded},
		"DockerToken":     {`{"auths": {"r.example.org": {"identitytoken": "` + coded + `"}}}`, "docker-auth", coded},
		"Npm":             {"//registry.example.org/:_authToken=" + coded + "\n", "npm-auth", coded},
		"NpmPassword":     {"//registry.example.org/:_password=" + coded + "\n", "npm-auth", coded},
		"Pypirc":          {"[pypi]\nusername = anna\npassword = " + word + "\n", "ini-password", word},
		"MyCnf":           {"[client]\nuser=anna\npassword=" + word + "\n", "ini-password", word},
		"Maven":           {"<server><username>anna</username><password>" + word + "</password></server>", "maven-password", word},
		"Composer":        {`{"http-basic": {"repo.example.org": {"username": "anna", "password": "` + word + `"}}}`, "composer-auth", word},
		"PHP":             {"define( 'DB_PASSWORD', '" + word + "' );", "php-define", word},
		"BasicAuthHeader": {"Authorization: Basic " + coded, "basic-auth", coded},
	} {
		t.Run(name, func(t *testing.T) {
			got := Find("", []byte(c.text))
			if len(got) != 1 || got[0].Rule != c.rule || got[0].Secret != c.secret {
				t.Fatalf("found %+v, want %s %q", got, c.rule, c.secret)
			}
			if clean := (*Redactor)(nil).Text(c.text); strings.Contains(clean, c.secret) || (*Redactor)(nil).Text(clean) != clean {
				t.Errorf("redacted it is %q", clean)
			}
			doc, err := json.Marshal(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if clean := (*Redactor)(nil).Bytes(doc); strings.Contains(string(clean), c.secret) || !json.Valid(clean) {
				t.Errorf("redacted in JSON it is %s", clean)
			}
			for size := 1; size < 12; size++ {
				if shown := inPieces(nil, c.text+"\n", size); strings.Contains(shown, c.secret) {
					t.Errorf("in pieces of %d it is shown: %q", size, shown)
				}
			}
		})
	}
}

// Files that are known by their names hold secrets without anything beside them.
func TestOwnRulesOfFiles(t *testing.T) {
	for path, text := range map[string]string{
		".netrc": "machine git login anna password " + word + "\n", "home/.pgpass": "db:6432:shop:anna:" + word + "\n", ".git-credentials": "https://token@git.example.org\n",
		".env": "DB_PASSWORD=" + word + "\n", "prod.env": "export API_KEY='" + word + "'\n", "web/.npmrc": "_auth=" + coded + "\n",
	} {
		if got := Find(path, []byte(text)); len(got) == 0 {
			t.Errorf("%s: found nothing", path)
		}
	}
}

// What only has the form of one: places to fill in, what everybody knows, and code.
func TestOwnRulesFindNothing(t *testing.T) {
	for _, text := range []string{
		"see http://localhost:8080/a@b and https://example.org/user:x@y, git@github.com:a/b.git, ssh://git@host:22/x and postgres://localhost/shop",
		"postgres://user:password@localhost/db postgres://USER:PASS@HOST/DB https://user:pass@example.com postgres://postgres:postgres@db/x amqp://guest:guest@mq",
		"mysql://root:${PW}@h/d postgres://$USER:$PASSWORD@h redis://:<password>@h https://%s:%s@host https://{user}:{pass}@host https://anna:****@host",
		"u.User = url.UserPassword(\"a\", \"b\")\npassword = get_password()\nmachine learning login page password reset\ntoken: string\n",
		"The machine 10.0.0.1 has a login page; its password is asked for.",
		"user:\n  type: object\n  password: string\n[section]\nname = x\npassword = ${PASSWORD}\n//registry.npmjs.org/:_authToken=${NPM_TOKEN}\n",
		"ports: [\"127.0.0.1:5432:5432\"]\nglob: **/*:*\n\"auth\": \"required\"\n<password>${env.PW}</password> Authorization: Bearer x",
	} {
		if got := Find("", []byte(text)); len(got) > 0 {
			t.Errorf("in %q found %+v", text, got)
		}
	}
}
