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
		"EnvPass":         {"DB_PASS=" + word + "\n", "env-password", word},
		"EnvExport":       {"export MYSQL_PWD='" + word + "'\n", "env-password", word},
		"EnvBare":         {"PASS=" + word + " ./deploy", "env-password", word},
		"EnvCompose":      {"docker run -e MYSQL_ROOT_PASSWORD=" + word + " mysql:8", "env-password", word},
		"SSHPassVariable": {"SSHPASS=" + word + " sshpass -e ssh a@b", "env-password", word},
		"GoDSN":           {"dsn := \"shop:" + word + "@tcp(db.example.org:3306)/shop\"", "url-password", word},
		"GoDSNUnix":       {"shop:" + word + "@unix(/run/mysqld.sock)/shop", "url-password", word},
		"GoDSNSigns":      {"shop:a@b:c/" + word + "@tcp(127.0.0.1)/shop", "url-password", "a@b:c/" + word},
		"Conninfo":        {"host=db user=shop password=" + word + " dbname=shop", "url-password", word},
		"ConninfoLast":    {"dsn := \"host=db port=5432 user=shop password=" + word + "\"", "url-password", word},
		"ConninfoFirst":   {"\"password=" + word + " host=db\"", "url-password", word},
		"ConninfoQuotes":  {"host=db user=shop password='my " + word + "'", "url-password", "my " + word},
		"Psql":            {"psql \"password=" + word + "\" -c 'select 1'", "command-password", word},
		"NuGet":           {"<add key=\"ClearTextPassword\" value=\"" + word + "\" />", "nuget-password", word},
		"NuGetPassword":   {"<add key=\"Password\" value=\"" + word + "\" />", "nuget-password", word},
		"Htdigest":        {"anna:Private Area:939e7578ed9e3c518a452acee763bce9\n", "password-hash", "939e7578ed9e3c518a452acee763bce9"},
		"HtdigestInDiff":  {"+anna:shop@example.org:939e7578ed9e3c518a452acee763bce9\r\n", "password-hash", "939e7578ed9e3c518a452acee763bce9"},
		"Mysql":           {"mysql -u shop -p" + word + " shop", "command-password", word},
		"MysqlQuotes":     {"/usr/bin/mysqldump --user=shop -p'" + word + " x' shop > a.sql", "command-password", word + " x"},
		"MysqlList":       {"[\"mysqladmin\", \"ping\", \"-p" + word + "\"]", "command-password", word},
		"MysqlLines":      {"mysql -h db \\\n  -u shop \\\n  -p" + word + "\n", "command-password", word},
		"Mariadb":         {"mariadb-dump -ushop -p" + word, "command-password", word},
		"Sshpass":         {"sshpass -p " + word + " ssh anna@host", "command-password", word},
		"SshpassJoined":   {"sshpass -v -p" + word + " scp a b:", "command-password", word},
		"SshpassQuotes":   {"sshpass -P assword -p \"" + word + " y\" ssh anna@host -p 2222", "command-password", word + " y"},
		"SshpassList":     {"exec(['sshpass', '-p', '" + word + "', 'ssh'])", "command-password", word},
		"RedisCLI":        {"redis-cli -h cache -a " + word + " ping", "command-password", word},
		"RedisLong":       {"redis-cli --pass " + word + " ping", "command-password", word},
		"DockerLogin":     {"docker login -u anna -p " + word + " r.example.org", "command-password", word},
		"DockerLoginLong": {"docker login --username anna --password " + word + " r.example.org", "command-password", word},
		"HelmLogin":       {"helm registry login r.example.org -u anna --password=" + word, "command-password", word},
		"Passin":          {"openssl rsa -in key.pem -passin pass:" + word + " -out x", "command-password", word},
		"Passout":         {"openssl genrsa -aes256 -passout 'pass:" + word + "' 4096", "command-password", word},
		"PassList":        {"[\"openssl\", \"enc\", \"-pass\", \"pass:" + word + "\"]", "command-password", word},
		"HTTPie":          {"http -a anna:" + word + " GET api.example.org/x", "command-password", word},
		"HTTPieLast":      {"https POST api.example.org/x name=y --auth=anna:" + word, "command-password", word},
		"Curl":            {"curl -sSu anna:" + word + "! https://api.example.org/x?a=1&b=2", "command-password", word + "!"},
		"CurlLast":        {"curl 'https://api.example.org/x?a=1&b=2' --user 'a:" + word + "%x'", "command-password", word + "%x"},
		"CurlProxy":       {"curl --proxy-user=anna:" + word + " https://x.example.org", "command-password", word},
		"PasswordFlag":    {"tool --password=" + word + " --force", "command-password", word},
		"PassphraseFlag":  {"restore --db-passphrase=\"" + word + "\"", "command-password", word},
		"HTTPPassword":    {"wget --user=anna --http-password=" + word + " https://x.example.org", "command-password", word},
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
		".env": "DB_PASSWORD=" + word + "\n", "web/.htdigest": "a.b:12:939e7578ed9e3c518a452acee763bce9\n", "NuGet.config": "<add key=\"ClearTextPassword\" value=\"" + word + "\" />", "prod.env": "export API_KEY='" + word + "'\n", "web/.npmrc": "_auth=" + coded + "\n",
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
		"mkdir -pv a && cp -parents x y; docker run -p 8080:80 -p3306:3306 mysql:8; ssh -p 2222 host; git log -p; ls -a; nc -u host:53",
		"mysql -u root -p < a.sql; mysql -P3306 -h db; mysql -proot; mysql -p$PW; mysql -p\"$PW\" x; mysql -p${PW} x; mysql -pPASSWORD; mysql --protocol=tcp --port=3306",
		"find /etc/mysql -name 'mysql*' -print0; find . -name mysql -path ./x -prune; docker run --name mysql -p3306:3306/tcp mysql; mysql x | grep -pattern",
		"sshpass -e ssh -p 2222 host; sshpass -f pw ssh -p 2222 host; sshpass -p $PW ssh; sshpass -p \"${PW}\" ssh; sshpass -p <password> ssh; sshpass is not there -plainly",
		"redis-cli -h cache; redis-cli -a $REDIS_PASSWORD; redis-cli -a \"{{ .Values.pw }}\"; redis-cli --askpass; redis-cli -a <password>; redis-cli -a xxxxxx; redis-cli ping && ls -a folder",
		"docker login -u $CI_USER -p $CI_PASSWORD r; docker login --password-stdin r; echo ${{ secrets.PW }} | docker login -u x --password-stdin; docker login -p ${{ secrets.PW }} r; docker run -p 80:80 x",
		"docker login && docker run -p 3000:3000 x; docker login; ssh -p 22000 login; the docker login page has --password fields, and redis-cli has -a for one",
		"openssl rsa -passin env:PW -passout file:/run/pw; openssl -passin stdin; -passin pass:$PW -passout pass:${PW} -pass pass:changeme; bypass: nothing; go test -pass=1",
		"http -a user:$PW GET x; http -a user:password x; http -a anna GET x; over http and -a or -b; see https -a is; --auth=oidc:https://x.example.org; --auth user:pass",
		"curl -u anna https://x; curl -u user:$PASSWORD https://x; curl -u \"$U:$PW\" https://x; curl -u user:password x; curl -u anna: x; curl x",
		"tool --password=$PW --password=<password> --password=changeme --password=PASSWORD --password=YOUR_PASSWORD --password= --password='' --password=\"\" --password=pw --password=file:/run/pw --password=/run/secrets/pw --password=xxxx --password=%s",
		"the --password flag is needed; --password-file=/x/secretfile --passphrase-fd=0 --pass=1 --no-password; args = append(args, \"--password=\"+password, \"--user=\"+user)",
		"x := \"--password=\" + get(\"pw\") + \" --force\"; y = '--password=' . $pw . ' -f'; f\"--password={password}\"; `--password=${password}`; \"--password=#{password}\"; [\"--password=\", password]",
		"DB_PASS=$DB_PASS DB_PASS=${PW} DB_PASS= DB_PASS=\"\" DB_PASS=<password> DB_PASS=xxxx DB_PASS=changeme DB_PASS=getpass() DB_PASS=$(cat pw) DB_PASS=YOUR_PASS DB_PASS=DB_PASS DB_PASS=process.env.DB_PASS DB_PASS={{pw}} DB_PASS=%DB_PASS%",
		"PWD=/home/anna OLDPWD=/home/b BUILD_PWD=/src PASS=3 FAIL=12 TESTS_PASS=1024 BYPASS=always COMPASS=north --- PASS: TestLogin (0.01s) ALLOW_EMPTY_PASSWORD=yes PGPASSFILE=/home/anna/pass",
		"env := []string{\"DB_PASS=\" + password, \"PASSWORD=\"+pw, fmt.Sprintf(\"DB_PASS=%s\", pw)}; db_pass = args.db_pass; connect(user=user, password=password, host=host)",
		"user:password@tcp(localhost:3306)/db root:root@tcp(db)/x %s:%s@tcp(%s)/db ${U}:${PW}@tcp(db) user:$PW@tcp(db:1) user:<pw>@tcp(h) anna@tcp(db) dsn := user + \":\" + pw + \"@tcp(\" + host",
		"host=db user=shop password=$PW dbname=shop; \"host=db user=shop password=\" + pw; host=%s password=%s; psql \"password=${PW}\"; psql -U shop --no-password; <input host=x type=password name=y>",
		"<add key=\"ClearTextPassword\" value=\"%NUGET_PW%\" /> <add key=\"Password\" value=\"\" /> <add key=\"ClearTextPassword\" value=\"${PW}\" />",
		"sums.txt:12:939e7578ed9e3c518a452acee763bce9\na.deb:md5:939e7578ed9e3c518a452acee763bce9\nmd5:939e7578ed9e3c518a452acee763bce9\nid: a:939e7578ed9e3c518a452acee763bce9\na:b:939e7578ed9e3c518a452acee763bce9x\na:b:939e7578ed9e3c51\nkey:MD5 sum:939e7578ed9e3c518a452acee763bce9\n",
		"ports: [\"127.0.0.1:5432:5432\"]\nglob: **/*:*\n\"auth\": \"required\"\n<password>${env.PW}</password> Authorization: Bearer x",
	} {
		if got := Find("", []byte(text)); len(got) > 0 {
			t.Errorf("in %q found %+v", text, got)
		}
	}
}
