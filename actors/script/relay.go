package script

import "troupe/messages"

// Base answers every callback like a script that does not export it (realtime.md 15.2). Embed it and override
// the methods that the game needs.
type Base struct{}

var _ Handler = Base{}

func (Base) Configuration() Configuration                                  { return Configuration{} }
func (Base) Init(Session) error                                            { return nil }
func (Base) OnProcessStarted([]string) Decision                            { return Allow }
func (Base) OnStartGameSession(*messages.GameSession) Decision             { return Allow }
func (Base) OnUpdateGameSession(*messages.GameSession, Update)             {}
func (Base) OnHealthCheck() Decision                                       { return Allow }
func (Base) OnProcessTerminate() Decision                                  { return Allow }
func (Base) OnPlayerConnect(*ConnectMessage) Decision                      { return Allow }
func (Base) OnPlayerAccepted(Player)                                       {}
func (Base) OnPlayerDetached(messages.PeerID, string) Decision             { return Hold }
func (Base) OnPlayerReconnected(messages.PeerID, Reconnected)              {}
func (Base) OnPlayerDisconnect(messages.PeerID) Decision                   { return Allow }
func (Base) OnMessage(*Message)                                            {}
func (Base) OnSendToPlayer(*Message) Decision                              { return Allow }
func (Base) OnSendToGroup(*Message) Decision                               { return Allow }
func (Base) OnPlayerJoinGroup(messages.GroupID, messages.PeerID) Decision  { return Allow }
func (Base) OnPlayerLeaveGroup(messages.GroupID, messages.PeerID) Decision { return Allow }

// Relay is the handler of game sessions without a script. Every player may log in, send messages and join
// groups. Messages to the server are dropped.
type Relay struct{ Base }

// Configuration raises the default limit of 32 players. The API allows 200, and the game session enforces its
// own limit.
func (Relay) Configuration() Configuration { return Configuration{MaxPlayers: 1 << 20} }
