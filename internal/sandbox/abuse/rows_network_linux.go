package abuse

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// hear returns nil if the daemon answers.
func hear(network, address string) error {
	conn, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = conn.Write([]byte("x"))
	return answered(conn)
}

func answered(from io.Reader) error {
	text := make([]byte, len(banner))
	if _, err := io.ReadFull(from, text); err != nil {
		return err
	}
	if string(text) != banner {
		return errors.New("somebody else answered")
	}
	return nil
}

// opens returns nil if a socket can be opened.
func opens(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func networkRows() []Row {
	local := func(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }
	return []Row{
		{Number: 28, Name: "reach the daemon by TCP", StoppedBy: "network namespace",
			inside: func(p Place) error { return hear("tcp4", local(p.Daemon.TCP)) }},
		{Number: 29, Name: "reach the daemon by MPTCP", StoppedBy: "network namespace, seccomp",
			inside: func(p Place) error {
				fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)
				if err != nil {
					return err
				}
				file := os.NewFile(uintptr(fd), "mptcp")
				defer file.Close()
				if err := unix.Connect(fd, &unix.SockaddrInet4{Port: p.Daemon.TCP, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
					return err
				}
				return answered(file)
			}},
		{Number: 30, Name: "reach the daemon by UDP", StoppedBy: "network namespace",
			inside: func(p Place) error { return hear("udp4", local(p.Daemon.UDP)) }},
		{Number: 31, Name: "reach the daemon's unix socket", StoppedBy: "mount namespace",
			inside: func(p Place) error { return hear("unix", p.socket()) }},
		{Number: 32, Name: "reach the daemon's abstract socket", StoppedBy: "network namespace, Landlock",
			inside: func(p Place) error { return hear("unix", "@"+p.Daemon.Abstract) }},
		{Number: 33, Name: "open a raw socket", StoppedBy: "dropped capabilities, seccomp", Root: true,
			inside: func(Place) error { return opens(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
		{Number: 34, Name: "open a packet socket", StoppedBy: "dropped capabilities, seccomp", Root: true,
			inside: func(Place) error { return opens(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
		{Number: 35, Name: "open a vsock socket to the hypervisor", StoppedBy: "seccomp",
			inside: func(Place) error { return opens(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
		{Number: 36, Name: "open a netlink socket", StoppedBy: "seccomp",
			inside: func(Place) error { return opens(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) }},
		{Number: 37, Name: "list the machine's network interfaces", StoppedBy: "network namespace",
			inside: func(p Place) error {
				seen, err := interfaces()
				if err != nil {
					return err
				}
				for _, name := range p.Interfaces {
					if name != "lo" && slices.Contains(seen, name) {
						return nil
					}
				}
				return fmt.Errorf("only %s", seen)
			}},
		{Number: 68, Name: "learn the machine's name", StoppedBy: "uts namespace",
			inside: func(p Place) error {
				if name, err := os.Hostname(); err != nil || name != p.Host {
					return errors.Join(err, errors.New("it is another name"))
				}
				return nil
			}},
	}
}
