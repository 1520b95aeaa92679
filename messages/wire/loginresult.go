package wire

// Field numbers of LoginResult.
const (
	fieldResultSuccess        = 1
	fieldResultReconnectToken = 2
	fieldResultPeerID         = 3
	fieldResultFastPort       = 4
	fieldResultCACert         = 5
	fieldResultConnectToken   = 6
	fieldResultCaps           = 1001
	fieldResultLastReceived   = 1002
	fieldResultOutcome        = 1003
	fieldResultWindowMs       = 1004
	fieldResultBase           = 1005
	fieldResultRetryAfterMs   = 1006
	fieldResultLost           = 1007
	fieldResultEndpoints      = 1008
	fieldResultAlternate      = 1009
	fieldResultOver           = 1010
)

// Outcomes of a login, for LoginResult.Outcome of the extension.
const (
	OutcomeNew        uint64 = 0 // the first login, or one after a leave: no messages are resent
	OutcomeResumed    uint64 = 1 // resumed: messages are resent, and nothing was lost
	OutcomeReplayLost uint64 = 2 // resumed, but messages were lost
)

// Refusal is the reason why a login was finally refused. It is the LoginResult.Outcome of a refusal. It is sent only
// for known player session ids, so that guessing ids reveals nothing.
type Refusal uint64

// Values of Refusal. 0 stands for any other reason or an unknown id.
const (
	RefusedGameSessionEnded   Refusal = 101
	RefusedFull               Refusal = 102 // the game session has reached its maximum number of players
	RefusedByGame             Refusal = 103 // the game does not let the player in
	RefusedPlayerSessionEnded Refusal = 104
	RefusedToken              Refusal = 105 // the reconnect token is not the latest one
	RefusedInUse              Refusal = 106 // another live connection uses the player session
)

var refusals = map[Refusal]string{
	RefusedGameSessionEnded:   "the game session has ended",
	RefusedFull:               "the game session is full",
	RefusedByGame:             "the game does not let the player in",
	RefusedPlayerSessionEnded: "the player session is over",
	RefusedToken:              "the reconnect token is not valid any more",
	RefusedInUse:              "the player session is in use by another connection",
}

// String describes the reason. It returns "" for 0 and unknown numbers.
func (r Refusal) String() string { return refusals[r] }

// Over says why the game session of a refused login is over. It is sent only by nodes of a cluster, and only to clients
// with CapMoves.
type Over uint64

// Values of Over. 0 means that the refusal has another reason.
const (
	OverHostLost Over = 1 // the node that ran the game session was lost
	OverEnded    Over = 2
	OverUnknown  Over = 3 // no node knows the game session or the player session
)

var overs = map[Over]string{
	OverHostLost: "the host of the game session was lost",
	OverEnded:    "the game session has ended",
	OverUnknown:  "no host knows the player session (any more)",
}

// String describes the reason. It returns "" for 0 and "the game session is over" for unknown numbers.
func (o Over) String() string {
	if o == 0 {
		return ""
	}
	if text := overs[o]; text != "" {
		return text
	}
	return "the game session is over"
}

// LoginResult is the inner message of LOGIN_RESPONSE (realtime.md 6.2). The zero value is a refusal.
type LoginResult struct {
	Success        bool
	ReconnectToken string // opaque; stock clients parse but do not use it
	PeerID         int32  // positive on success, 0 on refusal
	FastPort       int32  // UDP port, 1 to 65535 on success
	CACert         []byte // trust anchors as PEM in secured mode; otherwise empty
	ConnectToken   string // secret for VERIFY_IDENTITY in secured mode

	// The following fields belong to the extension. They are written only if Caps is set, which the server does only
	// for a client that has sent Caps.
	Caps         uint64
	LastReceived uint64 // highest reliable number received from the client
	Outcome      uint64 // one of the Outcome constants, or a Refusal
	WindowMs     uint64 // reconnect window in milliseconds
	// Base is the number before that of the next reliable packet. Messages with numbers above LastReceived up to Base
	// are lost (OutcomeReplayLost).
	Base uint64
	// RetryAfterMs is the time after which the client may log in again, in milliseconds. It is 0 if the refusal is
	// final.
	RetryAfterMs uint64
	// Lost is the number of messages to the player that were dropped before they got a number, since the player's last
	// login with OutcomeNew. Its increase adds to the loss that follows from Base.
	Lost uint64
	// Endpoints are the addresses of the node that runs the game session, as the text of Endpoints. They are set if this
	// node refuses the login because another one runs the game session. The following fields are only for CapMoves, too.
	Endpoints string
	// Alternates are the addresses of up to AlternatesMax other nodes, each as the text of Endpoints. They know what
	// became of the game session if its node cannot be reached.
	Alternates []string
	Over       Over // why the refusal is final; 0 for another reason
}

// ParseLoginResult decodes the inner message of LOGIN_RESPONSE. Strings and CACert are copies. Errors match
// ErrMalformed. It is for clients only.
func ParseLoginResult(inner []byte) (LoginResult, error) { return parseInto(inner, (*LoginResult).set) }

func (r *LoginResult) set(f *field) (err error) {
	switch f.typ {
	case typeVarint:
		v := f.varint
		switch f.number {
		case fieldResultSuccess:
			r.Success = v != 0
		case fieldResultPeerID:
			r.PeerID = int32(v)
		case fieldResultFastPort:
			r.FastPort = int32(v)
		case fieldResultCaps:
			r.Caps = v
		case fieldResultLastReceived:
			r.LastReceived = v
		case fieldResultOutcome:
			r.Outcome = v
		case fieldResultWindowMs:
			r.WindowMs = v
		case fieldResultBase:
			r.Base = v
		case fieldResultRetryAfterMs:
			r.RetryAfterMs = v
		case fieldResultLost:
			r.Lost = v
		case fieldResultOver:
			r.Over = Over(v)
		}
	case typeBytes:
		switch f.number {
		case fieldResultReconnectToken:
			r.ReconnectToken, err = text(f.bytes)
		case fieldResultCACert:
			r.CACert = append([]byte(nil), f.bytes...)
		case fieldResultConnectToken:
			r.ConnectToken, err = text(f.bytes)
		case fieldResultEndpoints:
			r.Endpoints, err = text(f.bytes)
		case fieldResultAlternate:
			var one string
			if one, err = text(f.bytes); len(r.Alternates) < AlternatesMax {
				r.Alternates = append(r.Alternates, one)
			}
		}
	}
	return err
}

// append appends the inner message. Strings must be valid UTF-8.
func (r *LoginResult) append(dst []byte) []byte {
	dst = appendBool(dst, fieldResultSuccess, r.Success)
	dst = appendString(dst, fieldResultReconnectToken, r.ReconnectToken)
	dst = appendInt32(dst, fieldResultPeerID, r.PeerID)
	dst = appendInt32(dst, fieldResultFastPort, r.FastPort)
	dst = appendBytes(dst, fieldResultCACert, r.CACert)
	dst = appendString(dst, fieldResultConnectToken, r.ConnectToken)
	if r.Caps == 0 {
		return dst
	}
	dst = appendUint64(dst, fieldResultCaps, r.Caps)
	dst = appendUint64(dst, fieldResultLastReceived, r.LastReceived)
	dst = appendUint64(dst, fieldResultOutcome, r.Outcome)
	dst = appendUint64(dst, fieldResultWindowMs, r.WindowMs)
	dst = appendUint64(dst, fieldResultBase, r.Base)
	dst = appendUint64(dst, fieldResultRetryAfterMs, r.RetryAfterMs)
	dst = appendUint64(dst, fieldResultLost, r.Lost)
	dst = appendString(dst, fieldResultEndpoints, r.Endpoints)
	for _, one := range r.Alternates {
		dst = appendString(dst, fieldResultAlternate, one)
	}
	return appendUint64(dst, fieldResultOver, uint64(r.Over))
}
