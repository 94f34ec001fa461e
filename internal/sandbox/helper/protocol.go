package helper

// Protocol is the version of everything in this file and of what the words mean. A
// helper of another version is not used.
const Protocol = "5"

// Room is what a holder puts together and keeps. It has /dev with the devices that
// programs expect and terminals of its own.
type Room struct {
	// Stage is an empty folder. In the holder's mount namespace a file system in
	// memory covers it, and the room's root is the folder [Root] in that.
	Stage string
	// Joined is an overlay that is mounted at its own path before anything else, so that
	// git, run by the holder, and Mounts find it there; nil if there is none.
	Joined *Mount `json:",omitempty"`
	// Mounts are what the room shows, parents before what lies in them. If there are none,
	// the rest of the room comes with a later request.
	Mounts []Mount
	// Links are symbolic links at the root of the room, by their path.
	Links map[string]string
	// Files are small files that the room has by content, by their path.
	Files map[string]string
	// Bwrap is the path of bubblewrap. It is shown in Stage, as whoever runs commands
	// may not be able to enter the folder that it is in.
	Bwrap string
	// UID and GID own what the holder makes that commands may write to, and are who
	// runs them. Zero means the holder's own.
	UID, GID int
	// Listen is a TCP port on which the holder listens in its network namespace. The
	// descriptor comes with the answer that says that the room is there. 0 = on none.
	Listen int `json:",omitempty"`
}

// The names of the room's root folder, and of bubblewrap, in [Room.Stage].
const (
	Root  = "root"
	Bwrap = "bwrap"
)

// Enter is where the commands of a room see the program that confines them, which is
// the holder's own.
const Enter = "/.enter"

// Mount is one thing that a room shows at Path. Exactly one of Source, Lower and
// Size is set.
type Mount struct {
	Path string
	// Source is a folder or file of the host that is shown, with what is mounted below it.
	Source string `json:",omitempty"`
	// ReadOnly keeps commands from writing to Source.
	ReadOnly bool `json:",omitempty"`
	// Lower are the folders of an overlay, the strongest first. Upper receives
	// what is written; Work is an empty folder beside it. Without Upper the overlay
	// cannot be written to.
	Lower       []string `json:",omitempty"`
	Upper, Work string   `json:",omitempty"`
	// Size and Inodes bound a file system in memory, in bytes and files.
	Size   int64 `json:",omitempty"`
	Inodes int64 `json:",omitempty"`
}

// Start asks the holder to start a process in its namespaces. It comes with the
// descriptors that the process gets from 0 on.
type Start struct {
	Argv []string
	Env  []string
	Dir  string
	// Room reports that Argv is bwrap, which writes its status to descriptor 3, and
	// that it runs as [Room.UID]. Otherwise the process is one of ours and runs as the holder.
	Room bool
}

// Request is what Pawl asks of a holder, one packet each.
type Request struct {
	ID uint64
	// Signal ends a process that was started: "TERM" asks its process group to,
	// "KILL" ends it and all it has started. Empty means a [Start], whose JSON is the
	// content of the first descriptor that comes with the packet.
	Signal string `json:",omitempty"`
	// Furnish completes a room that has only [Room.Joined]. The first descriptor has the
	// whole [Room].
	Furnish bool `json:",omitempty"`
}

// Answer is what a holder tells, one packet each. The first one has ID 0 and says
// that the room is there, or with Error why not. A packet with a descriptor brings the
// listener of [Room.Listen].
type Answer struct {
	ID uint64
	// Code is the exit code, and Finished that the process ended by itself. A
	// process that a signal ended has 128 and the signal's number.
	Code     int  `json:",omitempty"`
	Finished bool `json:",omitempty"`
	// Began reports that the command of a room was started.
	Began bool   `json:",omitempty"`
	Error string `json:",omitempty"`
}

// The first arguments by which a program is one of the helpers.
const (
	SuperviseWord = "__supervise"
	HoldWord      = "__hold"
	EnterWord     = "__enter"
	// RelayWord makes a helper connect its standard input and output to a Unix socket. Commands in
	// rooms run it, as [Enter] where they are confined.
	RelayWord = "__relay"
	// ProtocolWord makes a helper print [Protocol].
	ProtocolWord = "__protocol"
)
