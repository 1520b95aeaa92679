package catalog

import (
	"slices"
	"time"

	"github.com/google/uuid"

	"troupe/messages"
)

// Codes of fleet events, as the API has them.
const (
	EventCreated        = "FLEET_CREATED"
	EventDeleted        = "FLEET_DELETED"
	EventNoLaunchPath   = "FLEET_VALIDATION_LAUNCH_PATH_NOT_FOUND"
	EventNotRunnable    = "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE"
	EventCrashed        = "SERVER_PROCESS_CRASHED"
	EventActivation     = "GAME_SESSION_ACTIVATION_TIMEOUT"
	EventGeneric        = "GENERIC_EVENT"
	EventProtection     = "FLEET_NEW_GAME_SESSION_PROTECTION_POLICY_UPDATED"
	EventScaling        = "FLEET_SCALING_EVENT"
	eventLocationPrefix = "LOCATION_STATE_"
	eventStatePrefix    = "FLEET_STATE_"
	eventsMax           = 200 // kept per fleet
	eventRepetitionMax  = 101 // EventCount of the API
	eventMessageMax     = 2048
)

// events are the events of one fleet, in the order of their last occurrences.
type events []messages.FleetEvent

// add adds an event, or counts it if there is one with the same code and message.
func (e *events) add(now time.Time, code, message string) {
	if len(message) > eventMessageMax {
		message = message[:eventMessageMax] + "..."
	}
	// UUIDs of version 7 keep the order of events that have the same time.
	event := messages.FleetEvent{ID: uuid.Must(uuid.NewV7()).String(), Code: code, Message: message}
	same := func(o messages.FleetEvent) bool { return o.Code == code && o.Message == message }
	if i := slices.IndexFunc(*e, same); i >= 0 {
		event = (*e)[i]
		*e = slices.Delete(*e, i, i+1)
	}
	event.Time, event.Count = now, min(event.Count+1, eventRepetitionMax)
	if *e = append(*e, event); len(*e) > eventsMax {
		*e = slices.Delete(*e, 0, len(*e)-eventsMax)
	}
}
