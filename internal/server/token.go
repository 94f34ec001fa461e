package server

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"pawl"
)

// Limits of sessions of browsers.
const (
	// LinkTime is how long a link that begins a session is good for. It is good once.
	LinkTime = time.Minute
	// MaxSessions is how many browsers have one, and how many links may be open; the
	// oldest of each ends first.
	MaxSessions = 64

	sessionCookie = "pawl_session"
	tokenBytes    = 32
)

// access says who may ask over TCP: whoever has the token, and browsers that were
// given a link by somebody who has. The token is never part of an address; a link
// has a code of its own.
type access struct {
	token  [sha256.Size]byte // the hash of it
	origin string            // of the addresses of links: http://host:port

	mu       sync.Mutex
	links    []secret
	sessions []secret
}

type secret struct {
	hash  [sha256.Size]byte
	since time.Time
}

// openAccess reads the token, or makes one.
func openAccess(file string, address net.Addr) (*access, error) {
	token, err := readToken(file)
	if err != nil {
		return nil, err
	}
	return &access{token: sha256.Sum256([]byte(token)), origin: "http://" + address.String()}, nil
}

// readToken reads the token's file, which must be this user's alone, or makes it.
func readToken(file string) (string, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		token := random()
		_, err = f.WriteString(token + "\n")
		if err = errors.Join(err, f.Close()); err != nil {
			return "", fmt.Errorf("write the token: %w", errors.Join(err, os.Remove(file)))
		}
		return token, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("make the token: %w", err)
	}
	info, err := os.Lstat(file)
	if err != nil {
		return "", fmt.Errorf("look at the token: %w", err)
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return "", pawl.Errorf(pawl.CodeUnavailable, "%s, the token for TCP, can be read by others", file).WithHint("remove it: a new one is made")
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if raw, err := base64.RawURLEncoding.DecodeString(token); err != nil || len(raw) < tokenBytes {
		return "", pawl.Errorf(pawl.CodeUnavailable, "%s has no token in it", file).WithHint("remove it: a new one is made")
	}
	return token, nil
}

func random() string {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // it never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

func same(a, b [sha256.Size]byte) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }

// only lets requests pass that have the token or a session, and those that begin one.
func (a *access) only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.may(r) || r.Method == http.MethodGet && r.URL.Path == sessionPath {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		refuse(w, withStatus(http.StatusUnauthorized, pawl.Errorf(pawl.CodeInvalid, "the token is missing or wrong").
			WithHint("send it as Authorization: Bearer TOKEN")))
	})
}

func (a *access) may(r *http.Request) bool {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return same(sha256.Sum256([]byte(token)), a.token)
	}
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return false
	}
	hash := sha256.Sum256([]byte(c.Value))
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.sessions {
		if same(hash, s.hash) {
			return true
		}
	}
	return false
}

const (
	sessionPath = "/v1/session"
	firstPage   = "/v1/daemon" // what a browser sees first; there are no other pages yet
)

// Link is an address that begins a session of a browser, once.
type Link struct {
	URL     string `json:"url"`
	Seconds int    `json:"seconds"` // it is good for
}

func (a *access) link() Link {
	code := random()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.links = keep(a.links, code)
	return Link{a.origin + sessionPath + "?code=" + url.QueryEscape(code), int(LinkTime.Seconds())}
}

func keep(all []secret, text string) []secret {
	all = append(all, secret{sha256.Sum256([]byte(text)), time.Now()})
	return all[max(0, len(all)-MaxSessions):]
}

// begin makes a session of a link that was not used, and leads to the first page.
func (a *access) begin(w http.ResponseWriter, r *http.Request) {
	hash, found := sha256.Sum256([]byte(r.URL.Query().Get("code"))), false
	session := random()
	a.mu.Lock()
	for i, l := range a.links {
		if same(hash, l.hash) {
			found = time.Since(l.since) <= LinkTime
			a.links = append(a.links[:i:i], a.links[i+1:]...)
			break
		}
	}
	if found {
		a.sessions = keep(a.sessions, session)
	}
	a.mu.Unlock()
	if !found {
		refuse(w, withStatus(http.StatusUnauthorized, pawl.Errorf(pawl.CodeInvalid, "this link was used already, or is too old").
			WithHint("ask for a new one: POST %s", sessionPath)))
		return
	}
	http.SetCookie(w, &http.Cookie{Name: sessionCookie, Value: session, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, firstPage, http.StatusSeeOther)
}
