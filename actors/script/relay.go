package script

import "troupe/messages"

// Base answers every callback as a script that lacks it would (realtime.md
// 15.2). Embed it and override what the game needs.
type Base struct{}

var _ Handler = Base{}

// Configuration returns the defaults.
func (Base) Configuration() Configuration { return Configuration{} }

// Init does nothing.
func (Base) Init(Session) error { return nil }

// OnProcessStarted says ready.
func (Base) OnProcessStarted([]string) Decision { return Allow }

// OnStartGameSession does nothing.
func (Base) OnStartGameSession(*messages.GameSession) Decision { return Allow }

// OnUpdateGameSession does nothing.
func (Base) OnUpdateGameSession(*messages.GameSession, Update) {}

// OnHealthCheck says healthy.
func (Base) OnHealthCheck() Decision { return Allow }

// OnProcessTerminate does nothing.
func (Base) OnProcessTerminate() Decision { return Allow }

// OnPlayerConnect lets everybody in.
func (Base) OnPlayerConnect(*ConnectMessage) Decision { return Allow }

// OnPlayerAccepted does nothing.
func (Base) OnPlayerAccepted(Player) {}

// OnPlayerDetached holds.
func (Base) OnPlayerDetached(messages.PeerID, string) Decision { return Hold }

// OnPlayerReconnected does nothing.
func (Base) OnPlayerReconnected(messages.PeerID, Reconnected) {}

// OnPlayerDisconnect does nothing.
func (Base) OnPlayerDisconnect(messages.PeerID) Decision { return Allow }

// OnMessage drops the message.
func (Base) OnMessage(*Message) {}

// OnSendToPlayer allows.
func (Base) OnSendToPlayer(*Message) Decision { return Allow }

// OnSendToGroup allows.
func (Base) OnSendToGroup(*Message) Decision { return Allow }

// OnPlayerJoinGroup allows.
func (Base) OnPlayerJoinGroup(messages.GroupID, messages.PeerID) Decision { return Allow }

// OnPlayerLeaveGroup allows.
func (Base) OnPlayerLeaveGroup(messages.GroupID, messages.PeerID) Decision { return Allow }

// Relay is the handler of a game session without a script: everybody may
// enter, send and join; messages to the server are dropped. Its maximum of
// players is the game session's own.
type Relay struct{ Base }

// relayPlayersMax lifts the default of 32: a relay has no script whose
// expectations it must meet, and the API allows 200.
const relayPlayersMax = 1 << 20

// Configuration leaves the bound to the game session.
func (Relay) Configuration() Configuration { return Configuration{MaxPlayers: relayPlayersMax} }
