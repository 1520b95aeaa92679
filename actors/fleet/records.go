package fleet

import (
	"crypto/sha256"
	"time"

	"troupe/actors/ledger"
	"troupe/actors/store"
	"troupe/messages"
)

// gameSessionRecord is the stored form of a game session. The record's key is the game session's id. Times are in Unix
// nanoseconds.
type gameSessionRecord struct {
	Fleet      messages.FleetID           `json:"fleet"`
	Location   string                     `json:"location"`
	Name       string                     `json:"name,omitempty"`
	Creator    string                     `json:"creator,omitempty"`
	Data       string                     `json:"data,omitempty"`
	Matchmaker string                     `json:"matchmaker,omitempty"`
	Properties []messages.Property        `json:"properties,omitempty"`
	MaxPlayers int                        `json:"max"`
	Status     messages.GameSessionStatus `json:"status"`
	Reason     string                     `json:"reason,omitempty"`
	Denies     bool                       `json:"denies,omitempty"`
	Protected  bool                       `json:"protected,omitempty"`
	Token      string                     `json:"token,omitempty"`
	Made       []byte                     `json:"made,omitempty"` // fingerprint of the request, if it had a token
	Created    int64                      `json:"created"`
	Terminated int64                      `json:"terminated,omitempty"`
	EndText    string                     `json:"end,omitempty"`
	Script     string                     `json:"script,omitempty"` // version of the script
	IPAddress  string                     `json:"ip"`
	DNSName    string                     `json:"dns,omitempty"`
	Port       int                        `json:"port"`
	Node       string                     `json:"node,omitempty"`
	Server     bool                       `json:"server,omitempty"` // a process that speaks the Server SDK runs it
}

func (e *entry) key() ledger.Key { return ledger.Key{Kind: store.GameSession, ID: string(e.id)} }

// record returns the change that stores the current state of a game session.
func (e *entry) record() store.Change { return e.recordOf(e.published.Session()) }

// recordOf returns the change that stores g as the record of a game session.
func (e *entry) recordOf(g *messages.GameSession) store.Change {
	r := gameSessionRecord{
		Fleet: g.FleetID, Location: g.Location, Name: g.Name, Creator: g.CreatorID, Data: g.Data, Matchmaker: g.MatchmakerData,
		Properties: g.Properties, MaxPlayers: g.MaxPlayers, Status: g.Status, Reason: g.StatusReason, Denies: !g.AcceptsPlayers,
		Protected: g.Protected, Token: g.IdempotencyToken, Created: g.Created.UnixNano(), EndText: g.EndText, Script: g.ScriptVersion,
		IPAddress: g.IPAddress, DNSName: g.DNSName, Port: g.Port, Node: g.Node, Server: e.onServer,
	}
	if r.Reason == "" {
		r.Reason = e.published.Ending()
	}
	if e.made != [sha256.Size]byte{} {
		r.Made = e.made[:]
	}
	if !g.Terminated.IsZero() {
		r.Terminated = g.Terminated.UnixNano()
	}
	return store.Put(store.GameSession, string(e.id), r)
}

func (r *gameSessionRecord) gameSession(id string) *messages.GameSession {
	return &messages.GameSession{
		ID: messages.GameSessionID(id), FleetID: r.Fleet, Location: r.Location, Name: r.Name, CreatorID: r.Creator, Data: r.Data,
		MatchmakerData: r.Matchmaker, Properties: r.Properties, MaxPlayers: r.MaxPlayers, Status: r.Status, StatusReason: r.Reason,
		AcceptsPlayers: !r.Denies, Protected: r.Protected, IdempotencyToken: r.Token, Created: moment(r.Created), Terminated: moment(r.Terminated),
		EndText: r.EndText, ScriptVersion: r.Script, IPAddress: r.IPAddress, DNSName: r.DNSName, Port: r.Port, Node: r.Node,
	}
}

// playerSessionRecord is the stored form of a player session. The record's key is the player session's id. The JSON
// names are short because there are many records, which change often.
type playerSessionRecord struct {
	Session    messages.GameSessionID       `json:"g"`
	PlayerID   messages.PlayerID            `json:"p"`
	Data       string                       `json:"d,omitempty"`
	Status     messages.PlayerSessionStatus `json:"s"`
	Created    int64                        `json:"c"` // Unix nanoseconds, like Terminated
	Terminated int64                        `json:"t,omitempty"`
}

func storedPlayerSession(s *messages.PlayerSession) store.Change {
	record := playerSessionRecord{Session: s.GameSessionID, PlayerID: s.PlayerID, Data: s.PlayerData, Status: s.Status, Created: s.Created.UnixNano()}
	if s.Status.Final() {
		record.Terminated = s.Terminated.UnixNano()
	}
	return store.Put(store.PlayerSession, string(s.ID), record)
}

// playerSession is the inverse of storedPlayerSession. It does not set the fields that come from the game session.
func (r *playerSessionRecord) playerSession(id string) messages.PlayerSession {
	return messages.PlayerSession{
		ID: messages.PlayerSessionID(id), PlayerID: r.PlayerID, PlayerData: r.Data, GameSessionID: r.Session, Status: r.Status,
		Created: moment(r.Created), Terminated: moment(r.Terminated),
	}
}

// moment converts Unix nanoseconds to a time. 0 becomes the zero time.
func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}
