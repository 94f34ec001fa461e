package room

import (
	"os"
	"path/filepath"
	"slices"
)

// systemFolders hold programs and libraries for everyone.
var systemFolders = [...]string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
	"/opt", "/nix/store", "/gnu/store", "/home/linuxbrew/.linuxbrew",
}

// systemFiles are what programs need of /etc: names, certificates, the linker's
// cache, where language runtimes are. Nothing here is a credential; files that
// may hold one (npmrc, pip.conf, gitconfig) are left out.
var systemFiles = [...]string{
	"/etc/alternatives", "/etc/ca-certificates", "/etc/crypto-policies", "/etc/fonts",
	"/etc/host.conf", "/etc/java-*-openjdk", "/etc/ld.so.cache", "/etc/ld.so.conf",
	"/etc/ld.so.conf.d", "/etc/locale.alias", "/etc/localtime", "/etc/magic", "/etc/maven",
	"/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/perl",
	"/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf",
	"/etc/protocols", "/etc/python3*", "/etc/services", "/etc/ssl", "/etc/terminfo", "/etc/timezone",
}

// system is what every room has of the machine. Links at the root go into links.
func (h Host) system(links map[string]string) []Mount {
	var list []Mount
	for _, folder := range systemFolders {
		if target, err := os.Readlink(folder); err == nil {
			links[folder] = target
		} else if _, err := os.Stat(folder); err == nil {
			list = append(list, Mount{Path: folder, Source: folder, ReadOnly: true})
		}
	}
	for _, pattern := range systemFiles {
		found, _ := filepath.Glob(pattern) // the patterns are ours and well-formed
		for _, file := range found {
			list = appendVisible(list, file)
		}
	}
	if _, err := os.Stat("/etc/ssl/private"); err == nil {
		list = append(list, Mount{Path: "/etc/ssl/private", Size: 4096, Inodes: 1})
	}
	return list
}

// appendVisible shows a path read-only at its own place. Links on the way are
// followed outside, where they lead to something.
func appendVisible(list []Mount, path string) []Mount {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return list
	}
	return append(list, Mount{Path: path, Source: real, ReadOnly: true})
}

func inSystem(path string) bool {
	return slices.ContainsFunc(systemFolders[:], func(folder string) bool { return contains(folder, path) })
}
