package abuse

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

func parse(text string) uint32 {
	n, _ := strconv.ParseUint(text, 10, 32)
	return uint32(n)
}

const megabyte = 1 << 20

func limitRows() []Row {
	return []Row{
		{Number: 44, Name: "start 300 processes", StoppedBy: "cgroup, RLIMIT_NPROC", alone: true, inside: startMany},
		{Number: 45, Name: "use 640 MiB of memory", StoppedBy: "cgroup, RLIMIT_DATA", alone: true,
			inside: func(Place) error {
				memory, err := unix.Mmap(-1, 0, 640*megabyte, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
				if err != nil {
					return err
				}
				for i := 0; i < len(memory); i += os.Getpagesize() {
					memory[i] = 1
				}
				return unix.Munmap(memory)
			}},
		{Number: 46, Name: "write 200 MB to one file", StoppedBy: "RLIMIT_FSIZE", alone: true,
			inside: func(p Place) error { return fill(p, 1, 200) }},
		{Number: 47, Name: "write 200 MB to 200 files", StoppedBy: "size-limited file system", alone: true,
			inside: func(p Place) error { return fill(p, 200, 1) }},
		{Number: 48, Name: "make 20,000 files", StoppedBy: "size-limited file system", alone: true,
			inside: func(p Place) error { return fill(p, 20_000, 0) }},
		{Number: 71, Name: "have a file system in memory without a limit", StoppedBy: "sized tmpfs", inside: unlimitedMemory},
	}
}

// unlimitedMemory looks for more than 2 GiB of room in /tmp and /dev/shm. To fill
// them would harm the machine where nothing stops it.
func unlimitedMemory(Place) error {
	for _, folder := range []string{"/tmp", "/dev/shm"} {
		var stat unix.Statfs_t
		if err := unix.Statfs(folder, &stat); err != nil {
			return err
		}
		if int64(stat.Blocks)*stat.Bsize > 2<<30 {
			return nil
		}
	}
	return errors.New("all are small")
}

// startMany starts 300 processes that exist at the same time.
func startMany(Place) error {
	var all []*exec.Cmd
	defer func() {
		for _, cmd := range all {
			cmd.Process.Kill()
		}
		for _, cmd := range all {
			cmd.Wait()
		}
	}()
	for range 300 {
		cmd := exec.Command("/bin/sleep", "60")
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("after %d: %w", len(all), err)
		}
		all = append(all, cmd)
	}
	return nil
}

// fill writes files of some megabytes to the worktree, and removes them.
func fill(p Place, files, megabytes int) error {
	folder := filepath.Join(p.Work, "fill")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	data := make([]byte, megabyte)
	for i := range files {
		file, err := os.Create(filepath.Join(folder, strconv.Itoa(i)))
		if err != nil {
			return err
		}
		for range megabytes {
			if _, err = file.Write(data); err != nil {
				break
			}
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
	}
	return nil
}
