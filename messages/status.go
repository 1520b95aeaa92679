package messages

import (
	"slices"
	"strconv"
)

// GameSessionStatus is the status of a game session. It never returns to an earlier value (service-api.md 2.6).
type GameSessionStatus uint8

// Values of GameSessionStatus, in the order of a game session's life.
const (
	GameSessionActivating GameSessionStatus = iota + 1
	GameSessionActive
	GameSessionTerminating
	GameSessionTerminated
	GameSessionError
)

var gameSessionStatusNames = [...]string{"", "ACTIVATING", "ACTIVE", "TERMINATING", "TERMINATED", "ERROR"}

// String returns the name used by the service API.
func (s GameSessionStatus) String() string { return nameOf(gameSessionStatusNames[:], int(s)) }

// ParseGameSessionStatus is the inverse of String. ok is false for any other text.
func ParseGameSessionStatus(s string) (status GameSessionStatus, ok bool) {
	return parse[GameSessionStatus](gameSessionStatusNames[:], s)
}

// PlayerSessionStatus is the status shown by the service API (service-api.md 2.7). A detached player remains ACTIVE.
type PlayerSessionStatus uint8

// Values of PlayerSessionStatus.
const (
	PlayerSessionReserved PlayerSessionStatus = iota + 1
	PlayerSessionActive
	PlayerSessionCompleted
	PlayerSessionTimedOut
)

var playerSessionStatusNames = [...]string{"", "RESERVED", "ACTIVE", "COMPLETED", "TIMEDOUT"}

// String returns the name used by the service API.
func (s PlayerSessionStatus) String() string { return nameOf(playerSessionStatusNames[:], int(s)) }

// Final reports whether the status can no longer change.
func (s PlayerSessionStatus) Final() bool {
	return s == PlayerSessionCompleted || s == PlayerSessionTimedOut
}

// PlayerSessionStatusNames returns the names of all statuses.
func PlayerSessionStatusNames() []string { return playerSessionStatusNames[1:] }

// ParsePlayerSessionStatus is the inverse of String. ok is false for any other text.
func ParsePlayerSessionStatus(s string) (status PlayerSessionStatus, ok bool) {
	return parse[PlayerSessionStatus](playerSessionStatusNames[:], s)
}

// FleetStatus is the status of a fleet (service-api.md 2.3).
type FleetStatus uint8

// Values of FleetStatus.
const (
	FleetNew FleetStatus = iota + 1
	FleetDownloading
	FleetValidating
	FleetBuilding
	FleetActivating
	FleetActive
	FleetDeleting
	FleetErrored
	FleetTerminated
)

var fleetStatusNames = [...]string{"", "NEW", "DOWNLOADING", "VALIDATING", "BUILDING", "ACTIVATING", "ACTIVE", "DELETING", "ERROR", "TERMINATED"}

// String returns the name used by the service API.
func (s FleetStatus) String() string { return nameOf(fleetStatusNames[:], int(s)) }

func nameOf(names []string, i int) string {
	if i > 0 && i < len(names) {
		return names[i]
	}
	return "invalid(" + strconv.Itoa(i) + ")"
}

func parse[S ~uint8](names []string, s string) (S, bool) {
	i := max(slices.Index(names, s), 0)
	return S(i), i > 0
}
