package secret

import (
	"slices"
	"strings"
	"sync"
)

// ownRules are of what gitleaks has no rules for: passwords in addresses and in the files where programs keep them.
// Their expressions begin with a keyword where they can, as do gitleaks'.
func ownRules() []*rule {
	const value = `["']?([^\s"',;\\]{4,200})`
	return []*rule{
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
	}
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
	return slices.Contains(commonWords, lower) || slices.ContainsFunc([]string{"${", "$(", "{{", "%s", "...", "xxxx", "****", "your", "changeme", "change-me", "placeholder", "example"}, func(s string) bool { return strings.Contains(lower, s) })
}

// isCrypt reports whether a value is a hash of a password as crypt(3) writes it.
func isCrypt(value string) bool {
	_, rest, _ := strings.Cut(value[1:], "$")
	return value[0] == '$' && len(rest) >= 20
}

// commonWords are what stands for a password in examples.
var commonWords = []string{"password", "passwd", "pass", "pwd", "pw", "secret", "token", "string", "user", "username", "guest", "postgres", "root", "admin", "test",
	"mysql", "null", "none", "true", "false", "required", "dxnlcjpwyxnz", "dxnlcm5hbwu6cgfzc3dvcmq=", "ywrtaw46ywrtaw4=", "qwxhzgrpbjpvcgvuihnlc2ftzq=="}
