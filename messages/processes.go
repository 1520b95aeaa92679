package messages

import (
	"errors"
	"fmt"
	"time"
)

// ProcessID names a process that speaks the Server SDK: a server process whose players connect to itself. Name is chosen
// by who starts the process. It is never used again on its compute.
type ProcessID struct {
	FleetID FleetID
	Compute string
	Name    string
}

// String returns the id for logs.
func (id ProcessID) String() string { return string(id.FleetID) + "/" + id.Compute + "/" + id.Name }

// ProcessLink is one connection of a process. Any goroutine may call its methods, which do not block. After End, and
// after the connection has ended by itself, they do nothing.
type ProcessLink interface {
	// Push sends a message that the process has not asked for. Its policy for a process that does not read is that of
	// the connection. n is a number above those of all earlier pushes to the process: PushArrived has it. It is
	// not used for a PushRefresh.
	Push(p ProcessPush, n uint32)
	// Supersede says that another connection of the process has replaced this one, which ends soon.
	Supersede()
	// End ends the connection: at once and without a close frame if drop is true; otherwise the process should close it
	// itself soon.
	End(drop bool)
}

// ProcessPush is a message to a process: one of the Push types.
type ProcessPush interface{ push() }

// Messages to processes (server-sdk.md 8).
type (
	PushGameSession struct{ Session *GameSession }
	PushUpdate      struct {
		Session *GameSession
		Reason  UpdateReason
		Ticket  TicketID
	}
	PushTerminate struct{ At time.Time } // when the process is ended by force
	PushRefresh   struct{ Host bool }    // the connection gets a token for itself; Host says that this host has started the process
)

func (PushGameSession) push() {}
func (PushUpdate) push()      {}
func (PushTerminate) push()   {}
func (PushRefresh) push()     {}

// ProcessCall is a call of a process, made on one of its connections. What is one of the types below. The error of the
// answer is a *ProcessRefusal, or an *Error.
type ProcessCall struct {
	Process ProcessID
	Link    ProcessLink
	What    any
}

// Calls of processes.
type (
	// OpenProcess says that a handshake is accepted: the connection is the process's current one. The answer is nil.
	OpenProcess struct {
		// Asks says that the handshake is not accepted yet. The call asks whether it may be, and changes nothing.
		Asks bool
		// MayBeOld says that this host may not know the newest computes and tokens yet. The error is ErrMayBeOld for those
		// that are not known.
		MayBeOld bool
		Language string // of the Server SDK
		// TokenSHA256 is the hash of the compute's token, in hex. It is empty with a signature.
		TokenSHA256 string
		// Signature is the text of a signature. Signed says that it is valid now. A signature that was valid may open
		// further connections of the same process.
		Signature string
		Signed    bool
	}
	// CloseProcess says that the connection has ended. The answer is true if the process has ended, or is forgotten because
	// it was never activated.
	CloseProcess struct{}
	// ResumeProcess says that a connection that was superseded is open, and that the one in its place has ended. It is the
	// current one again. The error says that it is not.
	ResumeProcess struct{}
	// PushArrived says that the process has the push with that number, and what was pushed before it on the connection. The
	// connection does it, not the process.
	PushArrived     struct{ N uint32 }
	ActivateProcess struct {
		Port     int
		LogPaths []string
	}
	BeatProcess  struct{ Healthy bool }
	LeaveProcess struct{} // TerminateServerProcess
	// ActivateGame says that the game session is ready for players.
	ActivateGame struct{ Session GameSessionID }
	SetPolicy    struct {
		Session GameSessionID
		Accepts bool
	}
	// SetPlayer accepts a player session, or removes it.
	SetPlayer struct {
		Session GameSessionID
		Player  PlayerSessionID
		Accept  bool
	}
	// OwnGame asks whether the game session is that of the process. The answer is its *GameSession.
	OwnGame struct{ Session GameSessionID }
	// HideToken says that a process that this host has started gets a token, which its output must not show.
	HideToken struct{ Token string }
	// AboutProcess asks whether the process is ready.
	AboutProcess struct{}
)

// ErrMayBeOld refuses a handshake that another host may accept.
var ErrMayBeOld = errors.New("this host does not know the compute or its token, and may not have the newest ones")

// ProcessRefusal refuses a call of a process. Status is a StatusCode of server-sdk.md 13, or the HTTP status of a
// refused handshake.
type ProcessRefusal struct {
	Status int
	Text   string // one sentence for the developer of the game, without secrets
}

// Error returns the text.
func (r *ProcessRefusal) Error() string { return r.Text }

// RefuseProcess returns a ProcessRefusal.
func RefuseProcess(status int, format string, args ...any) *ProcessRefusal {
	return &ProcessRefusal{status, fmt.Sprintf(format, args...)}
}
