package coord

import "troupe/messages"

// AskConsole is a request of the operator's API, below /admin/v1/, which another node passes on.
type AskConsole struct {
	messages.ToThisHost[ConsoleAnswer]
	Method, Path, Query string
	By                  string // name of the caller, for logs and events
	Acts                bool   // the caller may act
	Reported            bool   // the asking node reports the action, so the asked one does not
}

// ConsoleAnswer is the answer to AskConsole.
type ConsoleAnswer struct {
	Status int // of HTTP
	Body   []byte
}

// FollowEvents asks a node for the events that it has published itself, from number Since on. If there are none, the
// node waits for one, for some seconds.
type FollowEvents struct {
	messages.ToThisHost[FollowedEvents]
	Since uint64 // NewestEvent begins after the newest one
}

// NewestEvent is greater than the number of any event.
const NewestEvent = ^uint64(0)

// FollowedEvents is the answer to FollowEvents.
type FollowedEvents struct {
	Events []Published
	Next   uint64 // the Since of the next request
}

// Published is an event as readers of a stream get it.
type Published struct {
	Kind      messages.EventKind
	ID        string // unique, also among the events of all nodes
	Name, ARN string // those of messages.Event
	Type      string
	Data      []byte // JSON
}

// ReadLog asks a node for a part of the log of a game session that it has run.
type ReadLog struct {
	messages.ToThisHost[LogPart]
	ID     messages.GameSessionID
	At     LogPlace
	Tail   int64 // begin this many bytes before the end instead of At; 0: begin at At
	Follow bool  // wait a second for further lines while the game session runs
}

// LogPlace is a place in a log. The zero value is the beginning.
type LogPlace struct {
	File   int
	Offset int64 // in bytes
}

// LogPart is the answer to ReadLog.
type LogPart struct {
	Text  []byte
	Next  LogPlace // where the next part begins
	Whole bool     // nothing before this part was skipped
	End   bool     // there is nothing after this part
}
