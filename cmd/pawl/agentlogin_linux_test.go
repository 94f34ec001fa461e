package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// agentLogin says what an agent's login is, and where the agent calls its model with it.
//
// The other agents have no tested login. Codex first looks up the workspaces of the ChatGPT account, and
// ends because the stand-in does not answer that. Gemini CLI's login has a protocol of its own (Code
// Assist), which modeltest does not speak. Qwen Code's own login was discontinued. A login of opencode is
// one to any of several providers, each with its own protocol.
type agentLogin struct {
	host  string // of the provider
	path  string // where the model is called
	trust string // the variable that names a file with certificates to trust
	file  string // holds the login, below the user's home
	text  func() string
}

const (
	loginToken   = "access-token-of-the-user-0001" // what the provider wants
	loginRefresh = "refresh-token-of-the-user-0001"
)

var agentLogins = map[string]agentLogin{
	"claude-code": {
		host: "api.anthropic.com", path: "/v1/messages", trust: "NODE_EXTRA_CA_CERTS", file: ".claude/.credentials.json",
		text: func() string {
			return mustJSON(map[string]any{"claudeAiOauth": map[string]any{
				"accessToken": loginToken, "refreshToken": loginRefresh, "expiresAt": time.Now().Add(8 * time.Hour).UnixMilli(),
				"scopes": []string{"user:inference", "user:profile"}, "subscriptionType": "max",
			}})
		},
	},
}

func mustJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// logIn gives the user a login and starts a stand-in for its provider. The user's configuration maps the
// provider's host to the stand-in's address, and makes the agent trust the stand-in's certificate.
func (r *agentRun) logIn(t *testing.T) {
	t.Helper()
	l, ok := agentLogins[r.agent.name]
	if !ok {
		t.Fatalf("%s has no login here", r.agent.name)
	}
	r.login = &l
	authority, certificate := certify(t, l.host)
	listener := listen443(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != l.path || req.Method != http.MethodPost { // about the account, such as its plan
			if strings.HasSuffix(req.URL.Path, "/accounts/check") {
				_, _ = w.Write([]byte(`{"accounts":[{"id":"account-1","name":"Personal","plan_type":"plus","structure":"personal","profile_picture_url":null}],"account_ordering":["account-1"],"default_account_id":"account-1"}`))
				return
			}
			http.NotFound(w, req)
			return
		}
		if got := req.Header.Get("Authorization"); got != "Bearer "+loginToken {
			http.Error(w, "not the user's login: "+got, http.StatusUnauthorized)
			return
		}
		r.server.ServeHTTP(w, req)
	}))
	server.Listener = listener
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
	server.StartTLS()
	stop := r.stop
	r.stop = sync.OnceFunc(func() {
		stop() // first, so that no reply hangs any more
		server.Close()
	})
	t.Cleanup(r.stop)
	address, _, _ := strings.Cut(listener.Addr().String(), ":")
	mustWrite(t, filepath.Join(r.home, l.file), l.text())
	mustWrite(t, filepath.Join(r.home, "config", "pawl", "config.yaml"), mustJSON(map[string]any{"delegates": map[string]any{r.agent.name: map[string]any{
		"login": map[string]any{
			"hosts": []string{l.host + ":443=" + address}, "environ": []string{l.trust + "={home}/authority.pem"},
			"files": []any{map[string]string{"path": "authority.pem", "text": authority}},
		},
	}}}))
}

// listen443 listens on port 443 of a loopback address that nothing else uses. The port must be the
// provider's, because a rule of the egress proxy changes the address only.
func listen443(t *testing.T) net.Listener {
	t.Helper()
	for i := 1; ; i++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.83.%d:443", i))
		switch {
		case errors.Is(err, fs.ErrPermission):
			t.Skipf("the provider's stand-in needs port 443; run as root, or after sysctl net.ipv4.ip_unprivileged_port_start=443: %v", err)
		case err != nil && (!errors.Is(err, syscall.EADDRINUSE) || i == 254):
			t.Fatal(err)
		case err == nil:
			return l
		}
	}
}

// certify returns a new authority as PEM, and a certificate of it for a host.
func certify(t *testing.T, host string) (authority string, certificate tls.Certificate) {
	t.Helper()
	sign := func(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey) []byte {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(24*time.Hour)
		der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	var keys [2]*ecdsa.PrivateKey
	for i := range keys {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = key
	}
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "an authority for a test"},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	rootDER := sign(root, root, keys[0], keys[0])
	leafDER := sign(leaf, root, keys[1], keys[0])
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootDER})), tls.Certificate{Certificate: [][]byte{leafDER}, PrivateKey: keys[1]}
}
