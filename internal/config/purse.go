package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pawl"
)

// PurseKind is what pays for the turns of an agent.
type PurseKind string

// The kinds of purse. PurseAuto stands for the login if there is one, or else the key.
const (
	PurseAuto  PurseKind = "auto"
	PurseLogin PurseKind = "login" // the user's login to the agent
	PurseKey   PurseKind = "key"   // a key of a model provider
)

// Purse is what pays for the turns of an agent on this machine.
type Purse struct {
	Kind PurseKind // PurseLogin or PurseKey
	// Plan reports that a plan pays, so that turns cost no money.
	Plan bool
	// Account is whose limits the turns count against. Its Address is empty for a login.
	Account pawl.Account
	// File is the path of the file that holds the login. Only for PurseLogin.
	File string
	// Address is where the gateway forwards requests, and Key is where the key is. A server of the
	// user's own may need no key. Only for PurseKey.
	Address string
	Key     KeySource
}

// String returns what pays, for people, such as "login" or "key in $ANTHROPIC_API_KEY".
func (p Purse) String() string {
	switch {
	case p.Kind == PurseLogin:
		return "login"
	case p.Key.Stored():
		return "key from " + p.Key.String()
	case p.Key.Env != "":
		return "key in $" + p.Key.Env
	}
	return "no key needed"
}

// maxLogin bounds the size of a file that holds a login.
const maxLogin = 1 << 20 // bytes

// Purse returns what pays for the agent's turns, as the setting delegates.NAME.purse says. home is the
// user's home and getenv looks up variables of their environment. A key that is stored elsewhere is
// taken to be there. Without a purse the error has the code [pawl.CodeKey] and says both ways to get one.
func (d *Delegate) Purse(home string, getenv func(string) string) (Purse, error) {
	return d.purse(home, getenv, func(Purse) bool { return true })
}

// PurseFor is like Purse, for a run whose settings say whether a plan pays: see [pawl.ModelChoice]. It
// never returns a purse of the other kind.
func (d *Delegate) PurseFor(plan bool, home string, getenv func(string) string) (Purse, error) {
	p, err := d.purse(home, getenv, func(p Purse) bool { return p.Plan == plan })
	if err == nil || d.Login == nil || d.Key == nil {
		return p, err
	}
	if _, other := d.Purse(home, getenv); other == nil {
		frozen, instead := "a key", "a login"
		if plan {
			frozen, instead = instead, frozen
		}
		return p, pawl.Errorf(pawl.CodeKey, "the run began with %s of %s, and now there is only %s", frozen, d.Title, instead).
			WithHint("%s, or start a new run", d.remedy())
	}
	return p, err
}

func (d *Delegate) purse(home string, getenv func(string) string, fits func(Purse) bool) (Purse, error) {
	var lacks []string
	if d.Login != nil && d.Pays != PurseKey {
		p, err := d.byLogin(home, getenv)
		if err == nil && fits(p) {
			return p, nil
		}
		if err != nil {
			lacks = append(lacks, err.Error())
		}
	}
	if d.Key != nil && d.Pays != PurseLogin {
		p, ok := d.byKey(getenv)
		if ok && fits(p) {
			return p, nil
		}
		if !ok {
			lacks = append(lacks, p.Key.Env+" is not set")
		}
	}
	if lacks == nil {
		lacks = append(lacks, "what there is does not fit")
	}
	return Purse{}, pawl.Errorf(pawl.CodeKey, "nothing pays for %s: %s", d.Title, strings.Join(lacks, ", and ")).WithHint("%s", d.remedy())
}

// remedy says how to get a purse.
func (d *Delegate) remedy() string {
	var ways []string
	if d.Login != nil && d.Pays != PurseKey {
		ways = append(ways, "start "+filepath.Base(d.Command[0])+" and log in")
	}
	if d.Key != nil && d.Pays != PurseLogin {
		ways = append(ways, "export "+cmp.Or(d.server.KeyEnv, "the key")+"=…")
	}
	return strings.Join(ways, ", or ")
}

func (d *Delegate) byKey(getenv func(string) string) (Purse, bool) {
	key := d.server.Key()
	p := Purse{Kind: PurseKey, Address: d.server.Address(), Key: key}
	p.Account = pawl.Account{Provider: d.Name, Address: p.Address}
	switch value := strings.TrimSpace(getenv(key.Env)); {
	case key.Stored():
		p.Account.Key = pawl.KeyOf(key.String())
	case value != "":
		p.Account.Key = pawl.KeyOf(value)
	case key.Env != "" && (d.server.Name == "" || d.server.NeedsKey()):
		return p, false
	default:
		p.Key = KeySource{}
	}
	return p, true
}

func (d *Delegate) byLogin(home string, getenv func(string) string) (Purse, error) {
	file := d.Login.path(home, getenv)
	if file == "" {
		return Purse{}, errors.New("there is no home with a login")
	}
	shown := file
	if below, ok := strings.CutPrefix(file, filepath.Clean(home)+string(filepath.Separator)); ok {
		shown = "~/" + filepath.ToSlash(below)
	}
	data, err := readLogin(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Purse{}, fmt.Errorf("%s does not exist", shown)
	case err != nil:
		return Purse{}, fmt.Errorf("%s cannot be read: %w", shown, err)
	}
	account, ok := d.Login.Identify(data)
	if !ok {
		return Purse{}, fmt.Errorf("%s holds no login", shown)
	}
	p := Purse{Kind: PurseLogin, Plan: !d.Login.Metered, File: file}
	p.Account = pawl.Account{Provider: d.Name, Key: pawl.KeyOf(cmp.Or(account, file))}
	return p, nil
}

// path returns where the file with the user's login is; empty if there is no home.
func (l *DelegateLogin) path(home string, getenv func(string) string) string {
	if variable, rest, ok := strings.Cut(l.Moved, "/"); ok && getenv(variable) != "" {
		return filepath.Join(getenv(variable), filepath.FromSlash(rest))
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, filepath.FromSlash(l.File))
}

func readLogin(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it is not a file"))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxLogin+1))
	if err == nil && len(data) > maxLogin {
		err = errors.New("it is too large")
	}
	return data, err
}

// Identify reports whether the content of a login's file is well-formed and holds a login, and
// returns what identifies its account. That is empty if the file does not say.
func (l *DelegateLogin) Identify(data []byte) (account string, ok bool) {
	var root map[string]any
	if len(data) > maxLogin || json.Unmarshal(data, &root) != nil || len(root) == 0 {
		return "", false
	}
	ok = len(l.Needs) == 0
	for _, path := range l.Needs {
		ok = ok || valueAt(root, path) != ""
	}
	var parts []string
	for _, path := range l.Account {
		if v := valueAt(root, path); v != "" {
			parts = append(parts, path+"="+v)
		}
	}
	return strings.Join(parts, "\n"), ok
}

// minSecret is the length from which a text in a login is taken for a secret, in bytes.
const minSecret = 20

// Secrets returns the texts in the content of a login's file that are to be kept out of everything that
// is stored: all that are as long as a token.
func (l *DelegateLogin) Secrets(data []byte) []string {
	var root any
	if json.Unmarshal(data, &root) != nil {
		return nil
	}
	var out []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			if len(v) >= minSecret && !strings.ContainsAny(v, " \n\t") {
				out = append(out, v)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(root)
	return out
}

// valueAt returns the value at a path of keys as text; empty if there is none.
func valueAt(root map[string]any, path string) string {
	var at any = root
	for key := range strings.SplitSeq(path, ".") {
		m, _ := at.(map[string]any)
		at = m[key]
	}
	switch v := at.(type) {
	case string:
		return v
	case float64, bool:
		return fmt.Sprint(v)
	case map[string]any:
		if len(v) > 0 {
			text, _ := json.Marshal(v) // it was JSON
			return string(text)
		}
	}
	return ""
}
