package gamesessiontest

import (
	"time"

	"troupe/actors/gamesession"
	"troupe/actors/player"
	"troupe/actors/stage"
)

// Settings returns the default values of reliability.md 5.2 and decisions.md 1.
func Settings() gamesession.Settings {
	return gamesession.Settings{
		Budget:              player.Budget{BytesMax: 1 << 20, MessagesMax: 16384, Gap: true},
		ReconnectWindow:     30 * time.Second,
		Takeover:            true,
		Rejoin:              true,
		Acknowledge:         true,
		PingInterval:        3 * time.Second,
		EmptyTimeout:        5 * time.Minute,
		ActivationLimit:     300 * time.Second,
		GroupsPerPlayerMax:  64,
		GroupsMax:           4096,
		DeliveriesPerSecond: 50_000,

		InboundBytesPerSecond:     1 << 20,
		ScriptDeliveriesPerSecond: 200_000,
		Mailbox:                   stage.LaneLimits{MessagesMax: 8192, BytesMax: 8 << 20},
	}
}
