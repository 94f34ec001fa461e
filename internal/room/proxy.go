package room

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"pawl"
)

// ProxyPort is the TCP port of the egress proxy on the loopback device of a room that
// has a network of its own.
const ProxyPort = 3128

// maxCAFile bounds a file of certificates that commands are given, in bytes.
const maxCAFile = 4 << 20

// wayOut gives the room an egress proxy if there are rules for one or there is a gateway. Where
// commands are not confined they have the network of the user, and the proxy is only the gateway.
func (x *room) wayOut(ctx context.Context, d *Description, out WayOut) error {
	if !x.rooms.Confined() {
		out.Rules = nil
	}
	if out.isZero() {
		return nil
	}
	if x.rooms.o.Proxy == nil {
		return pawl.Errorf(pawl.CodeInternal, "a room with a way out: there is no egress proxy")
	}
	proxy, err := x.rooms.o.Proxy(ctx, out)
	if err != nil {
		return err
	}
	x.proxy = proxy
	serve := func(l net.Listener) {
		if err := proxy.Serve(l); err != nil {
			x.rooms.o.Log.Warn("the egress proxy of a room ended", "room", d.Name, "error", err)
		}
	}
	if x.rooms.o.Enforcer.Mounts() {
		d.Serve, d.ProxyPort = serve, ProxyPort
	} else { // the room shares this machine's loopback device
		var config net.ListenConfig
		l, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("listen for the egress proxy: %w", err)
		}
		d.ProxyPort, x.listener = l.Addr().(*net.TCPAddr).Port, l
		go serve(l)
	}
	if out.Gateway != nil {
		x.gateway = "http://127.0.0.1:" + strconv.Itoa(d.ProxyPort)
	}
	return nil
}

// throughProxy adds to the environment of a room whose egress proxy has rules what makes clients
// use it, and shows the certificates that the user's own clients trust.
func (x *room) throughProxy(d *Description, host Host, rules []string) error {
	if d.ProxyPort == 0 || len(rules) == 0 || !x.rooms.Confined() {
		return nil
	}
	d.Environ = lastOfEach(append(d.Environ, proxyVariables(d.Environ, d.ProxyPort)...))
	for variable, path := range host.certificates() {
		content, err := readCertificates(path)
		if err != nil {
			x.rooms.o.Log.Warn("a file of certificates is not passed to a room", "variable", variable, "error", err)
			continue
		}
		given := filepath.Join(d.Given, variable+".pem")
		if err := os.WriteFile(given, content, 0o444); err != nil {
			return fmt.Errorf("show certificates: %w", err)
		}
		d.Environ = lastOfEach(append(d.Environ, variable+"="+filepath.Join(d.GivenPath, variable+".pem")))
	}
	return nil
}

// proxyVariables returns the variables that make clients use the egress proxy. The likes of
// pip, uv, git, curl, bundler and composer read http_proxy and its relatives.
func proxyVariables(environ []string, port int) []string {
	number := strconv.Itoa(port)
	address := "http://127.0.0.1:" + number
	var out []string
	for _, name := range []string{
		"http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY",
		"npm_config_proxy", "npm_config_https_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY", "CARGO_HTTP_PROXY",
	} {
		out = append(out, name+"="+address)
	}
	const direct = "localhost,127.0.0.1,::1"
	out = append(out, "no_proxy="+direct, "NO_PROXY="+direct, "NODE_USE_ENV_PROXY=1")
	java := "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=" + number + " -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=" + number +
		" -Dhttp.nonProxyHosts=localhost|127.0.0.1|[::1]"
	// Maven has more than one HTTP client; the newer ones go by the properties only when asked.
	maven := java + " -Daether.connector.http.useSystemProperties=true"
	return append(out, "JAVA_TOOL_OPTIONS="+java, "GRADLE_OPTS="+after(environ, "GRADLE_OPTS", java), "MAVEN_OPTS="+after(environ, "MAVEN_OPTS", maven))
}

// after appends options to those that a variable has.
func after(environ []string, name, options string) string {
	for _, v := range environ {
		if value, ok := strings.CutPrefix(v, name+"="); ok && value != "" {
			return value + " " + options
		}
	}
	return options
}

// caVariables name files of certificates that clients trust.
var caVariables = [...]string{
	"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "CARGO_HTTP_CAINFO", "npm_config_cafile",
}

// certificates returns the certificate files that the user's own clients trust, by the
// variable that names each.
func (h Host) certificates() map[string]string {
	out := make(map[string]string)
	for _, name := range caVariables {
		if path := h.environ[name]; path != "" {
			out[name] = path
		}
	}
	if path := h.environ["NPM_CONFIG_CAFILE"]; path != "" {
		out["npm_config_cafile"] = path
	}
	if out["npm_config_cafile"] == "" {
		if path := h.npmSetting("cafile"); path != "" {
			out["npm_config_cafile"] = path
		}
	}
	return out
}

// npmSetting returns a setting of the user's .npmrc; empty when it is not set.
func (h Host) npmSetting(key string) string {
	content, err := os.ReadFile(filepath.Join(h.home, ".npmrc"))
	if err != nil {
		return ""
	}
	var found string
	for line := range strings.Lines(string(content)) {
		if name, value, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == key {
			found = strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return os.Expand(found, func(name string) string { return h.environ[name] })
}

// readCertificates reads a file that the user named.
func readCertificates(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	case info.Size() > maxCAFile:
		return nil, fmt.Errorf("%s has %d bytes: want at most %d", path, info.Size(), maxCAFile)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var kept []byte // no private key that is in the file as well
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" || block.Type == "TRUSTED CERTIFICATE" {
			kept = append(kept, pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes})...)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("%s has no certificate in PEM format", path)
	}
	return kept, nil
}
