package egress

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"pawl"
)

// Rule names a host and a port that rooms may reach.
type Rule struct {
	host     string // in lower case; without the "*." of a wildcard
	wildcard bool
	port     uint16
	// stands is what the name stands for: one address, which is dialled without asking
	// anyone, or those it may resolve to. It is not valid when only public addresses will do.
	stands netip.Prefix
}

const ruleForm = `want HOST:PORT or HOST:PORT=ADDRESS, such as "registry.npmjs.org:443" or "npm.corp:443=10.0.0.5"`

// Parse reads a rule.
func Parse(text string) (Rule, error) {
	target, stands, mapped := strings.Cut(text, "=")
	bad := func(format string, args ...any) (Rule, error) {
		return Rule{}, pawl.Errorf(pawl.CodeInvalid, "egress rule %q: "+format, append([]any{text}, args...)...)
	}
	if strings.ContainsAny(target, "/@") {
		return bad("a scheme, a path or a user has no place in it: %s", ruleForm)
	}
	host, port, err := splitTarget(target)
	if err != nil {
		return bad("%v: %s", err, ruleForm)
	}
	r := Rule{port: port}
	if r.host, r.wildcard = strings.CutPrefix(host, "*."); r.wildcard && !strings.Contains(r.host, ".") {
		return bad(`a wildcard stands for one label below a domain, such as "*.npm.corp:443"`)
	}
	if ascii, err := idna.Lookup.ToASCII(r.host); err == nil && !isASCII(r.host) {
		r.host = ascii
	}
	address, isAddress := literal(r.host)
	switch {
	case isAddress && r.wildcard:
		return bad("an address has no wildcard")
	case isAddress && mapped:
		return bad("an address stands for itself: leave out %q", "="+stands)
	case isAddress:
		r.host, r.stands = address.String(), netip.PrefixFrom(address, address.BitLen())
		return r, nil
	}
	if err := checkName(r.host); err != nil {
		return bad("%v", err)
	}
	if !mapped {
		return r, nil
	}
	if a, err := netip.ParseAddr(strings.Trim(stands, "[]")); err == nil && a.Zone() == "" {
		a = a.Unmap()
		r.stands = netip.PrefixFrom(a, a.BitLen())
		return r, nil
	}
	prefix, err := netip.ParsePrefix(stands)
	if err != nil || prefix.Addr().Is4In6() {
		return bad(`%q is not an address or a range of addresses: want "10.0.0.5" or "10.0.0.0/24"; the port is that of the rule`, stands)
	}
	r.stands = prefix.Masked()
	return r, nil
}

// ParseAll reads rules.
func ParseAll(texts []string) ([]Rule, error) {
	rules := make([]Rule, 0, len(texts))
	for _, text := range texts {
		r, err := Parse(text)
		if err != nil {
			return nil, err
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// names reports whether the rule is about a host, in lower case, and a port.
func (r Rule) names(host string, port uint16) bool {
	if r.port != port {
		return false
	}
	if !r.wildcard {
		return r.host == host
	}
	_, domain, found := strings.Cut(host, ".")
	return found && domain == r.host
}

// splitTarget reads "host:port". The host is in lower case and without a final dot.
func splitTarget(target string) (host string, port uint16, err error) {
	at := strings.LastIndexByte(target, ':')
	if at < 0 {
		return "", 0, pawl.Errorf(pawl.CodeInvalid, "%q has no port", target)
	}
	host = target[:at]
	n, err := strconv.ParseUint(target[at+1:], 10, 16)
	if err != nil || n == 0 || target[at+1] == '0' {
		return "", 0, pawl.Errorf(pawl.CodeInvalid, "%q is not a port: want a number from 1 to 65535", target[at+1:])
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if host, ok = strings.CutSuffix(inner, "]"); !ok || !strings.Contains(host, ":") {
			return "", 0, pawl.Errorf(pawl.CodeInvalid, "%q is not an IPv6 address in brackets", target[:at])
		}
	} else if strings.Contains(host, ":") {
		return "", 0, pawl.Errorf(pawl.CodeInvalid, "%q has more than one colon: an IPv6 address needs brackets", target)
	}
	if host = strings.ToLower(strings.TrimSuffix(host, ".")); host == "" {
		return "", 0, pawl.Errorf(pawl.CodeInvalid, "%q has no host", target)
	}
	return host, uint16(n), nil
}

// literal reads a host that is an address. An IPv4 address that is written as an IPv6
// address is the same address.
func literal(host string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(host)
	if err != nil || a.Zone() != "" {
		return netip.Addr{}, false
	}
	return a.Unmap(), true
}

// checkName refuses what is not a host name. Resolvers take some numbers for addresses,
// such as 2130706433, 0x7f.1 or 0177.0.0.1, and no top-level domain is a number.
func checkName(host string) error {
	if len(host) > 253 {
		return pawl.Errorf(pawl.CodeInvalid, "a host name of %d characters: want at most 253", len(host))
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return pawl.Errorf(pawl.CodeInvalid, "%q is not a host name", host)
		}
	}
	last := labels[len(labels)-1]
	if strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return pawl.Errorf(pawl.CodeInvalid, "%q is a number and not an address as 192.0.2.1 is", host)
	}
	return nil
}

// CheckURL returns why nothing can be reached at the host and port of an address, whatever network it is tried from.
func CheckURL(u *url.URL) error {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "" {
		return pawl.Errorf(pawl.CodeInvalid, "the address has no host")
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return pawl.Errorf(pawl.CodeInvalid, "%q is not a port: want a number from 1 to 65535", port)
		}
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	if ascii, err := idna.Lookup.ToASCII(host); err == nil && !isASCII(host) {
		host = ascii
	}
	return checkName(host)
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c > 0x7f })
}
