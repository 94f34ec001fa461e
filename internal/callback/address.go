package callback

import "net/netip"

// reserved are parts of the address space that belong to no public machine, besides
// those that [netip.Addr] itself knows.
var reserved = [...]netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),       // this network
	netip.MustParsePrefix("100.64.0.0/10"),   // carrier-grade NAT
	netip.MustParsePrefix("192.0.0.0/24"),    // protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),    // documentation
	netip.MustParsePrefix("192.88.99.0/24"),  // relays of 6to4
	netip.MustParsePrefix("198.18.0.0/15"),   // benchmarks
	netip.MustParsePrefix("198.51.100.0/24"), // documentation
	netip.MustParsePrefix("203.0.113.0/24"),  // documentation
	netip.MustParsePrefix("240.0.0.0/4"),     // future use, broadcast
	netip.MustParsePrefix("2001::/23"),       // protocol assignments, among them Teredo
	netip.MustParsePrefix("2001:db8::/32"),   // documentation
	netip.MustParsePrefix("3fff::/20"),       // documentation
}

var (
	global = netip.MustParsePrefix("2000::/3")     // all public addresses of IPv6 are here,
	nat64  = netip.MustParsePrefix("64:ff9b::/96") // but for those that mean one of IPv4 in their last four bytes,
	sixTo4 = netip.MustParsePrefix("2002::/16")    // as these do behind the prefix
)

// isPublic reports whether an address is that of a machine on the public internet.
// An address of IPv6 that means one of IPv4 is judged as that one.
func isPublic(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if a.Is6() {
		b := a.As16()
		switch {
		case nat64.Contains(a):
			return isPublic(netip.AddrFrom4([4]byte(b[12:])))
		case sixTo4.Contains(a):
			return isPublic(netip.AddrFrom4([4]byte(b[2:6])))
		case !global.Contains(a):
			return false
		}
	}
	if !a.IsGlobalUnicast() || a.IsPrivate() { // not unspecified, loopback, link-local, multicast
		return false
	}
	for _, p := range reserved {
		if p.Contains(a) {
			return false
		}
	}
	return true
}
