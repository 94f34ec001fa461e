//go:build unix

package helper

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Relay connects to the Unix socket args name, passes standard input to it and what comes from it
// to standard output, and returns the process's exit code when the peer has closed the connection.
// It uses system calls, as package net would make every helper slower to start.
func Relay(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "relay: want the path of one socket")
		return 125
	}
	if err := relay(args[0], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "relay: %v\n", err)
		return 1
	}
	return 0
}

func relay(path string, in io.Reader, out io.Writer) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return fmt.Errorf("make a socket: %w", err)
	}
	conn := os.NewFile(uintptr(fd), path)
	defer conn.Close()
	for {
		err := unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("connect to %s: %w", path, err)
		}
	}
	// When the peer has closed the connection, the process exits without waiting for this goroutine:
	// a read from standard input cannot be interrupted.
	go func() {
		_, _ = io.Copy(conn, in) // if the peer is gone, the other direction ends too
		_ = unix.Shutdown(fd, unix.SHUT_WR)
	}()
	if _, err := io.Copy(out, conn); err != nil && !errors.Is(err, unix.ECONNRESET) {
		return fmt.Errorf("pass on what comes from %s: %w", path, err)
	}
	return nil
}
