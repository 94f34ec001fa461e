// Package egress is the only way out of a room: an HTTP proxy that connects its clients
// to hosts that rules name, and to nothing else.
//
// A rule is "HOST:PORT" or "HOST:PORT=ADDRESS". The first form allows the host at public
// addresses only. The second says which address the name stands for, or with a CIDR which
// addresses it may resolve to, and these may be private or of this machine. A HOST may
// begin with "*.", which stands for exactly one label, as in certificates.
//
// What a client asks for is judged once, and the address that was judged is the one that
// is dialled: a name that resolves to something else a moment later changes nothing.
// Nothing is decrypted. So the proxy sees with whom a room is in contact and how much goes
// each way, and cannot see what: a room can send what it has to any host that is named.
//
// Where whoever started the run uses a proxy of their own (HTTPS_PROXY, HTTP_PROXY,
// NO_PROXY), requests go through it; its credentials stay outside of the room. A name
// that is resolved by that proxy alone cannot be judged by its address here.
//
// A proxy can also be the gateway to the server of one model provider: see [pawl.Gateway]. Commands
// send it requests as if it were that server, with a token as their key. The gateway puts the user's
// key in place of the token and forwards the request. It removes the key and cookies from the
// headers of the response; bodies pass as they are. No rule applies to the gateway.
package egress
