package pawl

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"time"
)

// Rooms opens the rooms that commands run in. Implemented in internal/room over
// internal/sandbox. Nothing that is written in a room in which a model's code ran
// is ever below another room; see the package comment there.
type Rooms interface {
	// Confined reports whether commands are kept from the rest of the machine.
	Confined() bool
	// Describe says in one line what confines a command, for reports.
	Describe() string
	// Owner is who commands run as outside their rooms, to whom the files of a work
	// tree have to belong.
	Owner() Owner
	// Agent opens the room of a loop's tools, or returns the open one of that name.
	// It stays open until Leave.
	Agent(ctx context.Context, spec AgentRoom) (Room, error)
	// Prepared returns what was prepared under a key for this run, or for all, and reports
	// whether there is any. If trusted is set, only what serves all runs counts. See
	// [Prepared] for keys.
	Prepared(run RunID, key string, trusted bool) (PreparedLayer, bool, error)
	// Programs identifies programs that commands in a room would find, each in a line that
	// changes when another program is installed. What there is not is left out.
	Programs(ctx context.Context, names []string) []string
	// Delegate opens the room of a coding agent on the worktree of an agent's room. It waits until no
	// delegate room of that worktree with another [DelegateSpec] is in use. What the agent keeps in
	// its home stays until Leave.
	Delegate(ctx context.Context, spec DelegateSpec) (DelegateRoom, error)
	// Leave closes the agent's room of that name, and its delegate rooms, if they are open, and
	// removes what they kept.
	Leave(run RunID, name string) error
	// Prepare opens the room in which a clean checkout is made ready.
	Prepare(ctx context.Context, spec PrepareSpec) (PrepareRoom, error)
	// Gate opens a room for one judgement of a commit.
	Gate(ctx context.Context, spec GateRoom) (Room, error)
	// Base opens a room for a gate on the commit a run starts from, which is in a
	// branch of the user's own. What its commands leave in the cache becomes the
	// project's trusted cache when the last such room of the commit is closed.
	Base(ctx context.Context, spec GateRoom) (Room, error)
}

// Owner is who a file belongs to. The zero value means whoever makes it.
type Owner struct{ UID, GID int }

// AgentRoom asks for the room of a loop's tools.
type AgentRoom struct {
	Run  RunID
	Name string // of the worktree; unique in the project
	Tree string // the folder of the worktree's files
	// Prepared is the key of what was put into the worktree; empty = nothing was. A room that
	// is open with another key is closed first.
	Prepared string
	Limits   RoomLimits
}

// DelegateSpec describes the room of a coding agent that the user has installed.
type DelegateSpec struct {
	AgentRoom
	// Agent is the agent's name. Agents with different names have different homes.
	Agent string
	// ReadOnly reports whether the worktree cannot be changed in the room. A room that is not
	// confined does not enforce it.
	ReadOnly bool
	// Hide are files and folders of the work tree, with slashes, that the room does not show if they
	// are there when it is opened. A room that shows everything where it is cannot hide them, and is
	// not opened then.
	Hide []string
	// Hides, if not nil, reports whether the room does not show a file of the work tree, given its path with
	// slashes, or a folder with all that is in it. Unlike what Hide names, it shows these where it cannot hide them.
	Hides func(path string, isFolder bool) bool
	// Shows, if not nil, reports whether it shows a file all the same, or a folder because of something in it.
	Shows func(path string) bool
	// Programs are the folders of the host that the agent's program needs besides those that every
	// room has. They are read-only.
	Programs []string
	// Home are files that are written to the agent's home, in place of what it has, each time that
	// the room is opened. Only the agent's user can read them. In them and in Environ, {gateway}
	// stands for the URL of the gateway, and {home} for the agent's home as commands see it.
	Home []RoomFile
	// Fill, if not nil, is called before Home is written, with the path of the home as the agent left
	// it, and returns further files for it.
	Fill func(ctx context.Context, home string) ([]RoomFile, error)
	// Environ are further variables of all commands, as NAME=value.
	Environ []string
	// Egress are the rules of the egress proxy, as in [PrepareSpec].
	Egress []string
	// Gateway, if not nil, is reached at [DelegateRoom.Gateway].
	Gateway *Gateway
	// Refused is as in [PrepareSpec].
	Refused func(Contact)
}

// Gateway forwards requests of commands in a room to the server of a model provider, and adds the
// key, so that the key is never in the room.
type Gateway struct {
	// Address is the base URL of the provider's server. The path of a request is appended to it.
	Address string
	// Token is what commands use as their key. A request without it is refused. It is valid for this
	// gateway only.
	Token string
	// Key returns the key that takes the place of the token. It is called for each request.
	Key func(ctx context.Context) (string, error)
	// Answered, if not nil, is called when the server has begun to answer a request, or did not. It is
	// called concurrently.
	Answered func(GatewayAnswer)
}

// GatewayAnswer describes how a server answered a request, or why it did not.
type GatewayAnswer struct {
	Status int // the HTTP status; zero if there was no answer
	Header map[string][]string
	Body   []byte // of an answer that is an error, its beginning
	Err    error  // why there was no answer
}

// DelegateRoom is an open room of a coding agent.
type DelegateRoom interface {
	Room
	// Home returns the path by which this process reaches the agent's home.
	Home() (string, error)
	// Gateway returns the URL by which commands reach the gateway, such as "http://127.0.0.1:3128";
	// it is empty if the room has none.
	Gateway() string
	// Traffic returns what went out of the room since it was opened, which may have been for an earlier turn.
	// All reports that nothing reaches a model's provider in another way; otherwise nobody knows what does.
	Traffic() (out []Contact, all bool)
	// Listen makes a Unix socket that commands can connect to. It replaces an earlier one of the same
	// name. Relay is a command, to be run in the room, that passes its standard input and output to
	// the socket and ends with the connection.
	Listen(name string) (l net.Listener, relay []string, err error)
}

// GateRoom asks for a room for a clean checkout.
type GateRoom struct {
	Run    RunID
	Commit CommitHash
	// Tree is the folder of the checkout. It does not change while the room is
	// open: what commands write is seen in this room alone.
	Tree string
	// Prepared is the key of what was prepared for this checkout; empty = nothing was. In a
	// base room it must be prepared for all runs.
	Prepared string
	// Over are files that are laid over the checkout: where they are, it has nothing else. A base
	// room has none, and no Folders.
	Over []RoomFile
	// Folders are what commands see besides, outside of the work tree. A room that shows
	// everything where it is cannot have any: see [Rooms].
	Folders []RoomFolder
	Limits  RoomLimits
}

// RoomFile is a file that a room has for as long as it is open.
type RoomFile struct {
	Path       string `json:"path"` // with slashes, relative to the folder that it is in
	Data       []byte `json:"data"`
	Executable bool   `json:"executable,omitempty"`
}

// RoomFolder is a folder of a room's own, at an absolute path such as "/tests".
type RoomFolder struct {
	Path string
	// Files are what is in it, and nobody can change; nil = it is empty, and commands may write to
	// it.
	Files []RoomFile
}

// RoomLimits bound what the commands of one room use together. A field that is zero
// means its default.
type RoomLimits struct {
	// Processes bounds the processes and threads that exist at once.
	Processes int64 `json:"processes,omitempty"`
	// Memory, in bytes, and MemoryPercent, of the machine's memory, bound all processes
	// and what is in the room's temporary folder. When both are set the lower one holds.
	Memory        int64 `json:"memory,omitempty"`
	MemoryPercent int   `json:"memory_percent,omitempty"`
	// FileSize bounds one file, in bytes.
	FileSize int64 `json:"file_size,omitempty"`
	// Disk and Files bound what is written to disk beyond what was there when the room
	// was opened, in bytes and files. They are checked about once a second: a command
	// that exceeds them is ended, and may have written more by then.
	Disk  int64 `json:"disk,omitempty"`
	Files int64 `json:"files,omitempty"`
	// CPU bounds the processor time of each process, in whole seconds. Its default is
	// no limit: a command's timeout bounds it too.
	CPU time.Duration `json:"cpu,omitempty"`
}

// DefaultRoomLimits are the limits of a room when nothing else is set. The test suite
// of a real project does not meet them.
var DefaultRoomLimits = RoomLimits{
	Processes: 4096, MemoryPercent: 80, FileSize: 10 << 30, Disk: 20 << 30, Files: 2_000_000,
}

// The least that a room needs for itself.
const (
	MinRoomProcesses = 64
	MinRoomMemory    = 64 << 20 // bytes
)

// Check reports limits under which no command could run.
func (l RoomLimits) Check() error {
	for _, c := range []struct {
		name         string
		value, least int64
	}{
		{"processes", l.Processes, MinRoomProcesses},
		{"bytes of memory", l.Memory, MinRoomMemory},
		{"percent of memory", int64(l.MemoryPercent), 1},
		{"bytes of a file", l.FileSize, 1},
		{"bytes on disk", l.Disk, 1},
		{"files", l.Files, 1},
		{"seconds of CPU time", int64(l.CPU / time.Second), 0},
	} {
		if c.value != 0 && c.value < c.least || c.value < 0 {
			return Errorf(CodeInvalid, "a room with at most %d %s: want at least %d, or 0 for the default", c.value, c.name, c.least)
		}
	}
	return nil
}

// Filled returns the limits with a default for each that is not set.
func (l RoomLimits) Filled() RoomLimits {
	d := DefaultRoomLimits
	if l.Memory == 0 {
		l.MemoryPercent = cmp.Or(l.MemoryPercent, d.MemoryPercent)
	}
	l.Processes, l.FileSize = cmp.Or(l.Processes, d.Processes), cmp.Or(l.FileSize, d.FileSize)
	l.Disk, l.Files = cmp.Or(l.Disk, d.Disk), cmp.Or(l.Files, d.Files)
	return l
}

// MemoryOf returns the limit on memory in bytes on a machine that has total bytes.
func (l RoomLimits) MemoryOf(total int64) int64 {
	share := total / 100 * int64(l.MemoryPercent)
	if l.Memory == 0 || l.MemoryPercent > 0 && share < l.Memory {
		return share
	}
	return l.Memory
}

// PrepareSpec asks for a room that makes a clean checkout ready.
type PrepareSpec struct {
	Run    RunID
	Commit CommitHash
	Tree   string // the checkout's folder, as of a [GateRoom]
	// Key identifies what is prepared; see [Prepared].
	Key string
	// Trusted reports that no model has written the commit: what is left serves all runs.
	// Otherwise it serves this run alone, and the caches of what was prepared under the key
	// Below, if that is there, are below its own.
	Trusted bool
	Below   string
	// Egress are the rules of the egress proxy, the only way out of the room: "HOST:PORT" or
	// "HOST:PORT=ADDRESS". Without any, commands have loopback alone. See internal/egress.
	Egress []string
	// Refused is called when the egress proxy refuses requests to a host for the first time.
	// It must not block; it may be nil.
	Refused func(Contact)
	Limits  RoomLimits
}

// Trees joins files that never change with what is written above them, so that a work
// tree takes only the space of what differs in it. Implemented in internal/room.
type Trees interface {
	// Joins reports whether that can be done in a folder.
	Joins(dir string) bool
	// Join shows what is in the folder lower at dir/tree. What is written there goes to
	// dir/upper, and overlayfs works in dir/work. It is shown to this process and to
	// what Run runs, until Part. The folder lower must be one that no command writes to.
	// What was prepared is below it, in dir/tree/files; if that no longer exists, the
	// error has the code not_found.
	Join(ctx context.Context, dir, lower string, prepared PreparedFor) (Joined, error)
	// Copy copies what was prepared into a folder, for a worktree that is not joined. What
	// the folder has already stays.
	Copy(ctx context.Context, dir string, prepared PreparedFor) error
	// Part ends what was joined in a folder and everything that runs there.
	Part(dir string) error
}

// Joined is a folder with layers below it.
type Joined interface {
	// Reach returns the path by which this process reaches it. The path is valid until Part,
	// or until the process that holds it dies; Reach then starts another.
	Reach() (string, error)
	// Run runs one of our own programs where it finds the folder at its own path. When
	// ctx ends, the program is asked to end, and killed after the grace. Path, Args, Env, Dir,
	// Stdin, Stdout and Stderr of cmd count, and no two of the last may be the same. A
	// program that fails is an [*ExitError].
	Run(ctx context.Context, cmd *exec.Cmd, grace time.Duration) error
}

// ExitError says how a program failed.
type ExitError struct {
	Code     int // -1 when a signal ended it
	Signaled bool
}

func (e *ExitError) Error() string {
	if e.Signaled {
		return "a signal ended it"
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// PrepareRoom is a room whose content can be kept.
type PrepareRoom interface {
	Room
	// Keep closes the room and keeps what was written in it under the key, without the
	// files of the commit that commands changed.
	Keep() (PreparedLayer, error)
	// Contacts says with whom the commands were in contact through the egress proxy so far.
	// It is empty where commands are not confined: nothing sees their traffic then.
	Contacts() []Contact
}

// Contact counts the requests of a room to one host, and what went there and came back.
type Contact struct {
	Host     string `json:"host"` // with the port, as the client named it: "registry.npmjs.org:443"
	Requests int64  `json:"requests"`
	Sent     int64  `json:"sent"` // bytes
	Received int64  `json:"received"`
	// Refused says why these requests did not get there; empty = they did.
	Refused string `json:"refused,omitempty"`
	// Barred reports that a rule names the host, and requests to it are refused all the same
	// because of the addresses that it has. Trying again does not help.
	Barred bool `json:"barred,omitempty"`
}

// PreparedLayer is what the commands of prepare left. Rooms whose commit has the same key
// have it below what they write.
type PreparedLayer struct {
	Key string
	// Paths are the files and folders that it adds to the work tree, with slashes, sorted. Of
	// a folder that the commit does not have only that folder is listed.
	Paths []string
	Size  int64 // bytes on disk, of these and of what is in the home and the caches
}

// PreparedFor names what was prepared: for a run, or for all.
type PreparedFor struct {
	Run RunID  `json:"run"`
	Key string `json:"key"` // empty = nothing was
}

// Room is everything that the commands in it see: a root, a work tree, a home,
// caches, a network, limits and an owner. Its methods may be called at any time and
// from many goroutines. The environment of a command is built from nothing: no
// variable of the Pawl process is inherited but those an allow-list names, so no
// key or token can be.
type Room interface {
	// Run runs one command to its end and returns what it printed. A command that
	// fails, times out or is killed is a result, not an error; an error means that it
	// could not be run at all or that ctx ended. When Run returns, no process of
	// the command is left.
	Run(ctx context.Context, cmd Command) (CommandResult, error)
	// Dir is the work tree's folder as commands see it.
	Dir() string
	// Tree is the path by which this process reaches the work tree. It is good until
	// the room is closed.
	Tree() (string, error)
	// Give shows commands a file of this name, read-only, and returns its path as
	// they see it. The name is one path element. An earlier file of it is replaced.
	Give(name string, content []byte) (path string, err error)
	// Close ends what runs in the room and removes what only it had.
	Close() error
}

// Command is one command to run in a room.
type Command struct {
	// Shell is a line for /bin/sh -c. Exactly one of Shell and Argv is set.
	Shell string
	Argv  []string
	// Env are further variables, "NAME=value".
	Env []string
	// Timeout ends the command's whole process tree, TERM first and KILL after
	// Grace. Zero means [DefaultCommandTimeout].
	Timeout time.Duration
	// Grace is the time between TERM and KILL; zero means [DefaultGrace].
	Grace time.Duration
	// Keep is how many bytes of output are kept, half from the head and half
	// from the tail. Zero means [DefaultOutputLimit].
	Keep int
	// Progress receives output as it comes; it may be nil and may drop.
	Progress func([]byte)
	// Input is the command's standard input; nil means that it is empty. Input is closed when the
	// command has ended.
	Input io.ReadCloser
	// Stdout, if not nil, receives all standard output as it is printed, instead of Progress and the
	// result. The command waits while a write to it blocks.
	Stdout io.Writer
}

// Limits of commands.
const (
	DefaultCommandTimeout = 120 * time.Second
	DefaultGrace          = 2 * time.Second
	DefaultOutputLimit    = 100_000 // bytes
)

// CommandResult is how a command ended.
type CommandResult struct {
	// Output is standard output and standard error as they came, cut to Keep
	// with a line that says how many bytes are missing. It is valid UTF-8.
	Output []byte
	// Stdout is standard output alone, cut to 16 MiB: reports are read from it. It is empty if
	// the command has a Stdout of its own.
	Stdout []byte
	// Dropped is how many bytes were cut from Output.
	Dropped int64
	// ExitCode is -1 when a signal ended the command.
	ExitCode int
	// Missing reports that the shell or system did not find the program (127, or no such file).
	Missing  bool
	TimedOut bool
	// Met are the limits of the room that the command met.
	Met      []ResourceMet
	Duration time.Duration
}

// Resource is something that a room's commands share and have a limit of.
type Resource string

// The resources of a room.
const (
	ResourceProcesses Resource = "processes"  // that exist at once: one was refused
	ResourceMemory    Resource = "memory"     // bytes: a process was killed
	ResourceDisk      Resource = "disk space" // bytes written to disk: the command was ended
	ResourceFiles     Resource = "files"      // made on disk: the command was ended
	ResourceFileSize  Resource = "one file"   // bytes: a write was refused or its process killed
	ResourceCPU       Resource = "CPU time"   // seconds of one process: it was killed
)

// Setting returns the key of the setting that changes the resource's limit.
func (r Resource) Setting() string {
	return map[Resource]string{
		ResourceProcesses: "limits.room.processes", ResourceMemory: "limits.room.memory",
		ResourceDisk: "limits.room.disk", ResourceFiles: "limits.room.files",
		ResourceFileSize: "limits.room.file_size", ResourceCPU: "limits.room.cpu_seconds",
	}[r]
}

// ResourceMet says that commands met a limit of their room.
type ResourceMet struct {
	Resource Resource `json:"resource"`
	Max      int64    `json:"max"` // in the resource's unit
}

// String returns it in a few words, with the setting that changes the limit.
func (m ResourceMet) String() string {
	amount := strconv.FormatInt(m.Max, 10)
	switch m.Resource {
	case ResourceMemory, ResourceDisk:
		amount = strconv.FormatInt(m.Max/1_000_000, 10) + " MB of"
	case ResourceFileSize:
		amount = strconv.FormatInt(m.Max/1_000_000, 10) + " MB for"
	case ResourceCPU:
		amount += " seconds of"
	}
	return fmt.Sprintf("the limit of %s %s was met (%s)", amount, m.Resource, m.Resource.Setting())
}
