package egress

import (
	"net"
	"sync"
)

// limitedListener accepts as many connections at once as places has room for; further ones
// wait. That of netutil hides that a connection can be closed in one direction.
type limitedListener struct {
	net.Listener
	places chan struct{}
	closed chan struct{}
	close  func() // closes closed, once
}

func limitListener(l net.Listener, connections int) *limitedListener {
	closed := make(chan struct{})
	return &limitedListener{l, make(chan struct{}, connections), closed, sync.OnceFunc(func() { close(closed) })}
}

func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.places <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	leave := sync.OnceFunc(func() { <-l.places })
	conn, err := l.Listener.Accept()
	if err != nil {
		leave()
		return nil, err
	}
	return &limitedConn{conn, leave}, nil
}

func (l *limitedListener) Close() error {
	l.close()
	return l.Listener.Close()
}

// limitedConn has a place until it is closed.
type limitedConn struct {
	net.Conn
	leave func()
}

func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// CloseWrite tells the client that no more comes.
func (c *limitedConn) CloseWrite() error { return closeWrite(c.Conn) }
