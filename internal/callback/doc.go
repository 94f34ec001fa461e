// Package callback tells an HTTP address, or a command of the user, something,
// once: one call is one try, and whether another follows is the kernel's business.
//
// Where a message may go is decided on the address that is dialled, after names are
// resolved, so that a name that means another machine at every look-up helps
// nobody. Without [pawl.Callback.AllowPrivate] only public addresses are dialled,
// and only over https. Redirects are not followed, proxies of the environment are
// not used, and of an answer only the status counts.
package callback
