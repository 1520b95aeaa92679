package js

import (
	"testing"

	"troupe/actors/actorstest"
	"troupe/actors/script"
	"troupe/actors/script/bundle"
	"troupe/messages"
	"troupe/messages/counters"
)

// echo is a script that sends each message to the server back to its sender.
const echo = `
let session;
exports.ssExports = {
  init(s) { session = s; },
  onMessage(m) { session.sendReliableMessage(session.newBinaryGameMessage(m.opCode, session.getServerId(), m.payload), m.sender); },
};`

var shared = new(counters.Set)

// sink is a session that counts the bytes of sent payloads.
type sink struct {
	script.Session
	bytes int
}

func (s *sink) SendReliableMessage(m script.Outgoing, _ messages.PeerID) { s.bytes += len(m.Payload) }

func program(tb testing.TB, source string) *Program {
	b := &bundle.Bundle{Files: map[string][]byte{"server.js": []byte(source)}, Version: "v1", NodeVersion: "24.x"}
	p, err := New(b, "server.js", actorstest.ScriptLimits())
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
