package secret

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// ownRules are of what gitleaks has no rules for: passwords in addresses and in the files where programs keep them.
// Their expressions begin with a keyword where they can, as do gitleaks'.
func ownRules() []*rule {
	const value = `["']?([^\s"',;\\]{4,200})`
	return append(commandRules(), []*rule{
		{ID: "url-password", Regex: `://[^\s/?#:@"'<>\\` + "`" + `(),;]{0,100}:([^\s/?#@"'<>\\` + "`" + `(),;]{3,200})@[\w\[%]`, Keywords: []string{"://"}},
		{ID: "url-password", Regex: `(?i)(?:[?&;] ?|u0026)(?:password|passwd|pwd)=([^\s&;"'<>\\` + "`" + `]{4,200})`, Keywords: []string{"?pass", "&pass", ";pass", "; pass", "u0026pass", "u0026pwd", "?pwd", "&pwd", ";pwd", "; pwd"}},
		{ID: "netrc-password", Regex: `(?i)machine[ \t]+(?:[\w-]*[.:0-9][\w.:-]*|localhost)\s{1,20}(?:(?:login|user|account)\s+\S+\s+){0,3}password\s{1,20}(\S{3,200})`, Keywords: []string{"machine"}},
		{ID: "netrc-password", Regex: `(?i)default\s{1,20}login\s{1,20}\S{1,100}\s{1,20}password\s{1,20}(\S{3,200})`, Keywords: []string{"default"}},
		{ID: "netrc-password", Path: `(?i)(?:^|/)[._]netrc$`, Regex: `(?i)password\s{1,20}(\S{3,200})`, Keywords: []string{"password"}},
		{ID: "password-hash", Regex: `:(\$(?:apr1|[156y]|2[abxy]?)\$[./0-9A-Za-z$=,]{20,150}|\{S?SHA\}[+/0-9A-Za-z]{27,60}={0,2})`, Keywords: []string{":$", ":{s"}},
		{ID: "kubeconfig", Regex: `(?i)client-key-data["']?\s{0,5}:\s{0,5}["']?([A-Za-z0-9+/]{20,}={0,2})`, Keywords: []string{"client-key-data"}},
		{ID: "kubeconfig", Regex: `user:\s{1,80}(?:[\w-]+:[ \t]*\S+\s+){0,6}?(?:token|password|id-token|refresh-token|access-token):[ \t]*` + value, Entropy: 2.5, Keywords: []string{"user:"}},
		{ID: "pgpass", Regex: `(?::5432|\*:\*):[^:\s]{1,60}:[^:\s]{1,60}:([^\s:"',]{3,200})`, Keywords: []string{":5432", "*:*"}},
		{ID: "pgpass", Path: `(?i)(?:^|/)\.?pgpass(?:\.conf)?$`},
		{ID: "docker-auth", Regex: `(?i)"(?:auth|identitytoken|registrytoken)\s?"\s{0,5}:\s{0,5}"([A-Za-z0-9+/=._-]{8,})"`, Keywords: []string{`"auth`, `"identitytoken`, `"registrytoken`}},
		{ID: "npm-auth", Regex: `(?i):_(?:authToken|auth|password)\s{0,5}=\s{0,5}` + value, Keywords: []string{":_auth", ":_password"}},
		{ID: "npm-auth", Path: `(?i)(?:^|/)\.npmrc$`, Regex: `(?i)_(?:authToken|auth|password)\s{0,5}=\s{0,5}` + value, Keywords: []string{"_auth", "_password"}},
		{ID: "git-credentials", Path: `(?i)(?:^|/)\.git-credentials$`},
		{ID: "ini-password", Regex: `(?i)\[[\w.:" /-]+\][ \t]*\r?\n(?:\+?[\w.-]+[ \t]*[=:].*\n){0,10}?\+?(?:password|passwd|secret|token)[ \t]*=[ \t]*["']?([^\s"',;\\()<>{}[\]]{4,200})`, Entropy: 2.5, Keywords: []string{"password", "passwd", "secret", "token"}},
		{ID: "env-password", Path: `(?i)(?:^|/)(?:\.env(?:rc|\.\w+)?|[\w-]+\.env)$`, Regex: `(?i)[\w-]*(?:PASSWORD|PASSWD|PWD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)\w*[ \t]*=[ \t]*` + value, Keywords: []string{"pass", "pwd", "secret", "token", "key", "credential"}},
		{ID: "maven-password", Regex: `(?i)(?:<|u003c)(?:password|passphrase)(?:>|\\u003e)([^<\s\\]{4,200})(?:</|\\u003c/)`, Keywords: []string{"<pass", "u003cpass"}},
		{ID: "composer-auth", Regex: `"http-basic\s?"[^]]{0,400}?"password\s?"\s{0,5}:\s{0,5}"([^"\\]{4,200})"`, Keywords: []string{`"http-basic`}},
		{ID: "php-define", Regex: `define\(\s{0,5}["'][A-Z_]{0,40}(?:PASSWORD|_KEY|_SALT|SECRET)["']\s{0,5},\s{0,5}["']([^"']{6,200})`, Keywords: []string{"define("}},
		{ID: "basic-auth", Regex: `(?i)authorization["']?\s{0,5}[:=,]\s{0,5}["']?basic\s{1,5}([A-Za-z0-9+/]{8,400}={0,2})`, Keywords: []string{"authorization"}},
		{ID: "url-password", Regex: `[\w.-]{1,60}:([^\s"'<>()\\` + "`" + `]{3,100})@(?:tcp|udp|unix|cloudsql)6?\(`, Keywords: []string{"@tcp", "@udp", "@unix(", "@cloudsql("}},
		{ID: "nuget-password", Regex: `(?i)(?:ClearText)?Password\s?"\s{1,20}value\s{0,3}=\s{0,3}"([^"\\]{4,200})"`, Keywords: []string{"cleartextpassword", `password" value`, `password " value`}},
		{ID: digestRule, Path: `(?i)(?:^|/)[^/]*\.?htdigest$`},
	}...)
}

// commandRules are of passwords that are given to commands, and to programs by variables. No more than 150 bytes are
// between a command and its password, so that text which is shown in pieces is waited for; see maxOwn.
func commandRules() []*rule {
	const (
		id = "command-password"
		// gap is what may be between a command and its option, on one line or several that belong together: of a backslash
		// at the end of a line blanks are left where JSON has it.
		gap = `(?:[^\n|;&]|[&;][^\s&|;]|\\\n|   \n){0,150}?[\s"',]`
		// to is what is between an option and its value, in a shell or in a list of strings. A password in quotes does not
		// begin with what follows the quotes that end a string in a program.
		to   = `(?:\s{1,3}|=|\s?["']\s?,\s{0,3})`
		word = `(?:\s?"([^"\\\s+,.)\]}:;&|][^"\\\n]{2,100})"|\s?'([^'\\\s+,.)\]}:;&|][^'\\\n]{2,100})'|([^\s"'|;&<>()\\,+.-][^\s"'|;&<>()\\,` + "`" + `]{2,100})(?:[\s"'|;&<>),\]}\\` + "`" + `]|$))`
		// user is a name before a password, and pair both.
		user = `["']?[\w.@+-]{1,60}:`
		pair = user + `([^\s"'|;&<>()\\,/` + "`" + `][^\s"'|;&<>()\\,` + "`" + `]{2,100})(?:[\s"'|;&<>),\]}\\` + "`" + `]|$)`
		conn = `(?:host|hostaddr|port|dbname|user|sslmode)=`
	)
	// allowed are words that stand for a value in a manual, where else a value comes from, and ports of containers.
	allowed := []*allow{{Regexes: []string{`^[A-Z][A-Z_]*$`, `^(?:env|file|fd|stdin|prompt)(?::|$)`, `^/(?:run|etc|var|tmp|home|dev|proc|usr|opt)/`, `^(?:[\d.]*:)*[\d-]+:[\d-]+(?:/\w+)?$`}}}
	words := append([]*allow{{Regexes: []string{`^[a-z]{1,12}$`}}}, allowed...)                                 // where sentences about the option are alike
	options := append([]*allow{{Regexes: []string{`^(?:rint[0f]?|rune|ath|erm|arents|reserve)$`}}}, allowed...) // of find and cp: -print
	return []*rule{
		{ID: id, Regex: `\b(?:mysql|mariadb)` + gap + `-p` + word, Keywords: []string{"mysql", "mariadb"}, Allow: options},
		{ID: id, Regex: `\bsshpass["',\s]{1,4}(?:-[vV]["',\s]{1,4}|-P["',\s]{0,4}[^\s"',]{1,40}["',\s]{1,4}){0,3}-p(?:` + to + `)?` + word, Keywords: []string{"sshpass"}, Allow: allowed},
		{ID: id, Regex: `\bredis-cli` + gap + `(?:-a|--pass)` + to + word, Keywords: []string{"redis-cli"}, Allow: words},
		{ID: id, Regex: `\b(?:docker|podman|nerdctl|buildah|skopeo|crane|oras|helm)["',\s]{1,4}(?:[\w-]{1,20}["',\s]{1,4}){0,2}login` + gap + `(?:-p|--password)` + to + word, Keywords: []string{"docker", "podman", "nerdctl", "buildah", "skopeo", "crane", "oras", "helm"}, Allow: words},
		{ID: id, Regex: `-pass(?:in|out)?` + to + `["']?pass:([^\s"'|;&<>()\\,` + "`" + `]{3,100})`, Keywords: []string{"-pass"}, Allow: allowed},
		{ID: id, Regex: `-pass(?:word|wd|phrase)?=` + word, Keywords: []string{"-pass"}, Allow: allowed},
		{ID: id, Regex: `\bhttps? (?:` + gap + `)?-a` + to + pair, Keywords: []string{"http ", "https "}, Allow: allowed},
		{ID: id, Regex: `--auth` + to + pair, Keywords: []string{"--auth"}, Allow: allowed},
		{ID: id, Regex: `\bcurl` + gap + `(?:-[a-zA-Z]{0,6}[uU]|--user|--proxy-user)(?:` + to + `)?` + pair, Keywords: []string{"curl"}, Allow: allowed},
		{ID: id, Regex: `\bpsql` + gap + `["']?password=` + word, Keywords: []string{"psql"}, Allow: allowed},
		{ID: "url-password", Regex: `\b` + conn + `[^\s,()"']{1,60}\s{1,3}(?:\w{1,20}=[^\s,()"']{1,60}\s{1,3}){0,3}password=` + word, Keywords: []string{"host=", "hostaddr=", "port=", "dbname=", "user=", "sslmode="}, Allow: allowed},
		{ID: "url-password", Regex: `\bpassword=([^\s"'<>()\\,` + "`" + `]{4,100})\s{1,3}` + conn, Keywords: []string{"password="}, Allow: allowed},
		{ID: "env-password", Regex: `(?:_PASS|_PASSWD|_PASSWORD|_PASSPHRASE|SSHPASS|DBPASS|PGPASSWORD)=` + word, Entropy: 2, Keywords: []string{"_pass", "sshpass=", "dbpass=", "pgpassword="}, Allow: allowed},
		{ID: "env-password", Regex: `\b(?:PASS|PASSWD|PASSWORD)=` + word, Entropy: 2, Keywords: []string{"pass=", "passwd=", "password="}, Allow: allowed},
		{ID: "env-password", Regex: `(?:_PWD|DBPWD)=` + word, Entropy: 2, Keywords: []string{"_pwd=", "dbpwd="}, Allow: append([]*allow{{Regexes: []string{`^[/~.]`}}}, allowed...)},
	}
}

// digestRule is the rule of a hash for digest authentication, which is as good as the password. See digests.
const digestRule = "password-hash"

const digestBegin = `(?:^|[\s"'+-])([A-Za-z][\w-]{0,40}):([^:\s"'][^:\n"']{0,80})`

var digestLine = sync.OnceValue(func() (p struct{ begin, some *regexp.Regexp }) {
	p.begin, p.some = regexp.MustCompile(digestBegin+`:$`), regexp.MustCompile(digestBegin+`(?::[0-9a-f]{0,32})?$`)
	return p
})

// digestSize is how many letters such a hash has, digestGap how many bytes are before it at most.
const digestSize, digestGap = 32, 150

// digests returns the hashes in lines of an .htdigest, which are a user, a realm and a hash. They have no word to know
// them by. What grep prints of a list of checksums is none: there a number or the name of a hash is in the middle.
func digests(text []byte) (out []stretch) {
	for at := 0; ; {
		i := bytes.IndexByte(text[at:], ':')
		if i < 0 {
			return out
		}
		at += i + 1
		end := at
		for end < len(text) && end-at <= digestSize && strings.IndexByte("0123456789abcdef", text[end]) >= 0 {
			end++
		}
		if end-at != digestSize || end < len(text) && strings.IndexByte("\r\n \"'", text[end]) < 0 {
			continue
		}
		line := text[max(0, bytes.LastIndexByte(text[:at], '\n')+1, at-digestGap):at]
		if m := digestLine().begin.FindSubmatch(line); m != nil && isRealm(m[1]) && isRealm(m[2]) {
			out = append(out, stretch{from: at, to: end, names: []string{digestRule}, found: true})
		}
	}
}

// isRealm reports whether what is before a hash can be what .htdigest has there.
func isRealm(text []byte) bool {
	lower := strings.ToLower(string(text))
	return !isNumber(text) && !strings.HasPrefix(lower, "md5") && !strings.HasPrefix(lower, "sha")
}

// unfinishedDigest returns where a line begins at the end of a text that may become one of an .htdigest.
func unfinishedDigest(text []byte) int {
	tail := max(0, len(text)-digestGap-digestSize)
	tail += bytes.LastIndexByte(text[tail:], '\n') + 1
	if place := digestLine().some.FindIndex(text[tail:]); place != nil {
		return tail + place[0]
	}
	return len(text)
}

// isOwn reports whether a rule is one of ours.
var isOwn = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, r := range ownRules() {
		out[r.ID] = true
	}
	return out
})

// isPlaceholder reports whether a password stands for one in an example, or is one that everybody knows. What is
// before it may hold the name of its user.
func isPlaceholder(before, value string) bool {
	lower := strings.ToLower(value)
	user := strings.ToLower(before[strings.LastIndexAny(before[:max(0, len(before)-1)], "/ \t\n:=")+1:])
	switch {
	case strings.TrimRight(user, ":") == lower, strings.Trim(lower, lower[:1]) == "":
		return true
	case strings.ContainsAny(value[:1], "$%{<:*[") && !strings.HasPrefix(value, "$apr1$") && !isCrypt(value) && !strings.HasPrefix(value, "{SHA}") && !strings.HasPrefix(value, "{SSHA}"):
		return true
	}
	return slices.Contains(commonWords, lower) || slices.ContainsFunc([]string{"${", "$(", "{{", "#{", "%s", "...", "getenv", "process.env", "os.environ", "xxxx", "****", "your", "changeme", "change-me", "placeholder", "example"}, func(s string) bool { return strings.Contains(lower, s) })
}

// isCrypt reports whether a value is a hash of a password as crypt(3) writes it.
func isCrypt(value string) bool {
	_, rest, _ := strings.Cut(value[1:], "$")
	return value[0] == '$' && len(rest) >= 20
}

// commonWords are what stands for a password in examples.
var commonWords = []string{"password", "passwd", "pass", "pwd", "pw", "secret", "token", "string", "user", "username", "guest", "postgres", "root", "admin", "test",
	"mysql", "null", "none", "true", "false", "required", "hidden", "redacted", "value", "dxnlcjpwyxnz", "dxnlcm5hbwu6cgfzc3dvcmq=", "ywrtaw46ywrtaw4=", "qwxhzgrpbjpvcgvuihnlc2ftzq=="}
