package player

var stateNames = [...]string{"", "RESERVED", "JOINING", "ATTACHED", "DETACHED", "LEAVING", "GONE"}

// String returns the state's name.
func (s State) String() string {
	if int(s) < len(stateNames) {
		return stateNames[s]
	}
	return "INVALID"
}

var eventNames = [...]string{"", "LoginArrived", "ReservationOver", "GateAccepted", "GateRefused", "JoinLost", "ConnectionLost",
	"ConnectionLeft", "WindowOver", "OutboxFull", "Kicked", "GameEnded", "LeaveDone", "Released", "ChallengeUnanswered", "ChallengeAnswered", "ChallengerGone", "StateInconsistent"}

// String returns the event's name.
func (k EventKind) String() string {
	if int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "Invalid"
}

var effectNames = [...]string{"", "AskGate", "RefuseLogin", "RefuseForNow", "RefuseWaiting", "DismissWaiting", "ReplaceWaiting", "ReleasePeer", "Accept", "FenceOld", "Resume", "CloseSlow",
	"Drop", "StartWindow", "StopWindow", "StopReservation", "TellDetached", "TellLeaving", "CloseKicked", "CloseEnded",
	"SetActive", "SetCompleted", "SetTimedOut", "CountOldEpoch", "CountDeadToken", "Challenge", "ResumeChallenger", "RefuseChallenger", "RetryAfterLeave", "End"}

// String returns the effect's name.
func (e Effect) String() string {
	if int(e) < len(effectNames) {
		return effectNames[e]
	}
	return "Invalid"
}
