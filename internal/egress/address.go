package egress

import (
	"net"
	"net/netip"
)

// A special range is one that no public host has an address in.
type special struct {
	prefix netip.Prefix
	kind   string
}

// specials are from the registries of special-purpose addresses of IANA, and what clouds
// use for metadata.
var specials = [...]special{
	{netip.MustParsePrefix("0.0.0.0/8"), "an unspecified address"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier's private address"},
	{netip.MustParsePrefix("127.0.0.0/8"), "a loopback address"},
	{netip.MustParsePrefix("169.254.169.254/32"), "a cloud's metadata address"},
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address of documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "an address of 6to4 relays"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address of documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address of documentation"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's metadata address"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("255.255.255.255/32"), "a broadcast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},

	{netip.MustParsePrefix("::/128"), "an unspecified address"},
	{netip.MustParsePrefix("::1/128"), "a loopback address"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("fec0::/10"), "a site-local address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
	{netip.MustParsePrefix("2001::/32"), "a Teredo address"},
	{netip.MustParsePrefix("2001::/23"), "a reserved address"},
	{netip.MustParsePrefix("2001:db8::/32"), "an address of documentation"},
	{netip.MustParsePrefix("2002::/16"), "a 6to4 address"},
	{netip.MustParsePrefix("3fff::/20"), "an address of documentation"},
}

var (
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	global = netip.MustParsePrefix("2000::/3") // all public IPv6 addresses there are
)

// refusal returns why no name may resolve to an address unless a rule says so, such as "a
// private address"; empty for a public address. An address that stands for an IPv4 address is
// judged as that address.
func refusal(a netip.Addr, own []netip.Prefix) string {
	a = a.Unmap()
	if a.Zone() != "" {
		return "a link-local address"
	}
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, s := range specials {
		if s.prefix.Contains(a) {
			return s.kind
		}
	}
	if a.Is6() && !global.Contains(a) {
		return "a reserved address"
	}
	for _, p := range own {
		if p.Contains(a) {
			return "an address of this machine or its network"
		}
	}
	return ""
}

// ownNetworks returns the addresses of this machine and of the networks it is attached to.
func ownNetworks() []netip.Prefix {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var out []netip.Prefix
	for _, a := range addresses {
		n, ok := a.(*net.IPNet)
		if !ok {
			continue
		}
		ip, _ := netip.AddrFromSlice(n.IP)
		bits, _ := n.Mask.Size()
		if ip = ip.Unmap(); !ip.IsValid() || bits > ip.BitLen() {
			continue
		}
		out = append(out, netip.PrefixFrom(ip, max(bits, ip.BitLen()/4)).Masked())
	}
	return out
}
