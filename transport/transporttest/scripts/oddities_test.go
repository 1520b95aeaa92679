package scripts

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// oddities are unusual things that existing scripts do (realtime.md 19.2, and the scripts quoted in 16 to
// 18). For each, the catalogue has a script that does the same.
var oddities = []struct {
	what, file, source string // source is a regular expression that matches the oddity in the file
	absent             bool   // whether the oddity is that source does not match
}{
	{what: "byte order mark", file: "cards/cards.js", source: `^\x{FEFF}`},
	{what: "new Buffer.from", file: "cards/cards.js", source: `new Buffer\.from\(`},
	{what: "new Buffer.from on a payload to text", file: "arora/arora.js", source: `new Buffer\.from\(gameMessage\.payload\)`},
	{what: "JSON.parse of a Buffer", file: "cards/cards.js", source: `JSON\.parse\(new Buffer`},
	{what: "../src/proto/Packet_pb, never used", file: "frog/frog.js", source: `require\('\.\./src/proto/Packet_pb'\)`},
	{what: "./gameloop.js beside it", file: "frog/frog.js", source: `require\('\./gameloop\.js'\)`},
	{what: "a file required without .js", file: "arora/arora.js", source: `require\('\./gameloop'\)`},
	{what: "process.hrtime in the loop", file: "frog/gameloop.js", source: `process\.hrtime\(\)`},
	{what: "setInterval in the loop", file: "frog/gameloop.js", source: `setInterval\(`},
	{what: "setImmediate in the loop", file: "frog/gameloop.js", source: `setImmediate\(`},
	{what: "hrtime with an argument", file: "arora/gameloop.js", source: `process\.hrtime\(before\)`},
	{what: "fast sends in onPlayerAccepted", file: "frog/frog.js", source: `session\.sendMessage\(message, peer\)`},
	{what: "no onHealthCheck", file: "frog/frog.js", source: `onHealthCheck`, absent: true},
	{what: "util.inspect of the session", file: "frog/frog.js", source: `util\.inspect\(session\)`},
	{what: "util.inspect of messages", file: "frog/frog.js", source: `util\.inspect\(gameMessage\)`},
	{what: "empty configuration", file: "frog/frog.js", source: `configuration = \{\};`},
	{what: "connect message read as peerId", file: "frog/frog.js", source: `onPlayerConnect\(player\) \{\s+logger\.info\(.* \+ player\.peerId\)`},
	{what: "sender free: the recipient's id", file: "frog/frog.js", source: `newTextGameMessage\(opCode, peer, text\)`},
	{what: "processEnding().then, then exit", file: "frog/frog.js", source: `processEnding\(\)\.then\(function \(outcome\)`},
	{what: "logs whole objects", file: "cards/cards.js", source: `logger\.info\(\{`},
	{what: "sends to the leaving peer", file: "cards/cards.js", source: `onPlayerDisconnect\(peerId\) \{\s+// The one who leaves`},
	{what: "connectMsg.payload", file: "cards/cards.js", source: `connectMsg\.payload`},
	{what: "connectMsg.player.playerSessionId", file: "cards/cards.js", source: `connectMsg\.player\.playerSessionId`},
	{what: "await processEnding, then exit", file: "cards/cards.js", source: `await session\.rt\.processEnding\(\)`},
	{what: "String.fromCharCode.apply", file: "pong/pong.js", source: `String\.fromCharCode\.apply\(null, gameMessage\.payload\)`},
	{what: "500 ms setTimeout that renews itself", file: "pong/pong.js", source: `tickTime = 500;(.|\n)*setTimeout\(tickLoop, tickTime\)`},
	{what: "no configuration key", file: "pong/pong.js", source: `configuration:`, absent: true},
	{what: "playerId.toString", file: "pong/pong.js", source: `playerId\.toString\(\)`},
	{what: "getPlayers().forEach((player, playerId))", file: "pong/pong.js", source: `getPlayers\(\)\.forEach\(\(player, playerId\)`},
	{what: "player-to-player messages", file: "pong.play", source: `send 1 50 2 paddle`},
	{what: "player object as target", file: "racing/racing.js", source: `"car " \+ player\.peerId\), player\);`},
	{what: "player object as target of a fast message", file: "arora/arora.js", source: `'accepted'\), player\);`},
	{what: "onProcessTerminate sends", file: "racing/racing.js", source: `onProcessTerminate\(\) \{(.|\n)*sendReliableMessage`},
	{what: "strict comparison of ids", file: "racing/racing.js", source: `playerId !== sender`},
	{what: "no group callbacks", file: "racing/racing.js", source: `onPlayerJoinGroup|onSendToGroup|onPlayerLeaveGroup`, absent: true},
	{what: "pingIntervalTime 30000", file: "racing/racing.js", source: `pingIntervalTime: 30000`},
	{what: "sender as string key", file: "rooms/rooms.js", source: `for \(let sender in lastWords\)`},
	{what: "target as string key", file: "rooms/rooms.js", source: `Object\.keys\(members\)\.forEach\(function \(to\)`},
	{what: "payload kept and sent again", file: "rooms/rooms.js", source: `lastWords\[message\.sender\] = message\.payload`},
	{what: "getAllPlayersGroupId", file: "rooms/rooms.js", source: `sendGroupMessage\(.*getAllPlayersGroupId\(\)\)`},
	{what: "processEnding on a wrong object: unhandled rejection", file: "ticked/ticked.js", source: `await exports\.ssExports\.processEnding\(\)`},
	{what: "binary payload through newTextGameMessage", file: "asl/asl.js", source: `newTextGameMessage\(OPS\.MOVED, message\.sender, message\.payload\)`},
	{what: `payload compared with ""`, file: "asl/asl.js", source: `message\.payload == ""`},
	{what: "Number(owner) as target", file: "asl/asl.js", source: `Number\(owner\)\)`},
	{what: "Object.freeze of a function table by op code", file: "asl/asl.js", source: `functions = Object\.freeze\(\{\s+\[OPS`},
	{what: "40 op codes", file: "asl/asl.js", source: `OPS = Object\.freeze\(\{(\s+[A-Z_]+: \d+,){40}\s+\}\)`},
	{what: "frozen ssExports", file: "asl/asl.js", source: `exports\.ssExports = Object\.freeze`},
	{what: "for of with destructuring, Object.entries", file: "asl/asl.js", source: `for \(const \[owner, ids\] of Object\.entries`},
	{what: "sendReliableMessage inside onPlayerConnect", file: "arora/arora.js", source: `sendReliableMessage\(hello, connectMsg\.player\.peerId\)`},
	{what: "payload argument is a function", file: "arora/arora.js", source: `stateAsText\), player\)`},
	{what: "console.log", file: "arora/arora.js", source: `console\.log\(`},
	{what: "reliable flag", file: "board/board.js", source: `\{ sender, reliable, opCode \} = gameMessage`},
	{what: "op code 0 to clients", file: "board/board.js", source: `OP_BOARD = 0;`},
	{what: "session.Name is undefined", file: "board/board.js", source: `session\.Name`},
	{what: "default parameter", file: "board/board.js", source: `text = board\.join\(''\)\)`},
	{what: "JSDoc types", file: "board/board.js", source: `@param \{number\} peerId`},
	{what: "Array fill, every", file: "board/board.js", source: `\.fill\(0\)(.|\n)*board\.every`},
	{what: "sendMessage with a string", file: "platform/platform.js", source: `sendMessage\("welcome", player\.peerId\)`},
	{what: "sender.toString", file: "platform/platform.js", source: `gameMessage\.sender\.toString\(\)`},
	{what: "onProcessTerminate calls processEnding", file: "platform/platform.js", source: `onProcessTerminate\(\) \{(.|\n)*session\.processEnding`},
	{what: "exit commented out", file: "platform/platform.js", source: `// process\.exit\(0\)`},
	{what: "gameMessage.contents is undefined", file: "looped/looped.js", source: `gameMessage\.contents`},
	{what: "wrong argument counts", file: "looped/looped.js", source: `sendReliableMessage\(session\.newTextGameMessage\(CONTENTS\)\)`},
	{what: "maxPlayers 2", file: "looped/looped.js", source: `maxPlayers: 2`},
	{what: "bundled loop package", file: "looped/looped.js", source: `require\('node-gameloop'\)`},
	{what: "package with main", file: "looped/node_modules/node-gameloop/package.json", source: `"main": "lib/loop"`},
	{what: "unbound class methods exported", file: "classy/classy.js", source: `onMessage: server\.onMessage,`},
	{what: "./server", file: "classy/classy.js", source: `require\('\./server'\)`},
	{what: "async onPlayerDisconnect", file: "classy/server.js", source: `async onPlayerDisconnect\(\)`},
	{what: "top-level code at load", file: "toplevel/toplevel.js", source: `(?m)^lines\.push\(.*readFileSync`},
	{what: "a timer before init", file: "toplevel/toplevel.js", source: `(?m)^const timer = .*setTimeout`},
	{what: "child_process, fs, os", file: "intruder/intruder.js", source: `require\('child_process'\)(.|\n)*require\('fs'\)(.|\n)*require\('os'\)`},
	{what: "all 14 keys", file: "fourteen/fourteen.js", source: `configuration: (.|\n)*init: (.|\n)*onProcessStarted: (.|\n)*onMessage: (.|\n)*onPlayerConnect: (.|\n)*onPlayerAccepted: (.|\n)*onPlayerDisconnect: (.|\n)*onSendToPlayer: (.|\n)*onSendToGroup: (.|\n)*onPlayerJoinGroup: (.|\n)*onPlayerLeaveGroup: (.|\n)*onStartGameSession: (.|\n)*onProcessTerminate: (.|\n)*onHealthCheck: `},
	{what: "process.exit", file: "fourteen/fourteen.js", source: `process\.exit\(0\)`},
	{what: "payload forwarded, no configuration", file: "forward/forward.js", source: `gameMessage\.opCode, gameMessage\.sender, gameMessage\.payload\), -1\)`},
	{what: "reserved op code relayed", file: "forward.play", source: `send 2 -500 server`},
	{what: "sloppy mode", file: "platform/platform.js", source: `use strict`, absent: true},
	{what: "strict mode", file: "asl/asl.js", source: `(?m)^"use strict";`},
}

// Each oddity occurs in its script, and that script is one of those that are run.
func TestOdditiesOccur(t *testing.T) {
	played := make(map[string]bool)
	for _, name := range catalogued(t) {
		played[name] = true
	}
	for _, o := range oddities {
		text, err := os.ReadFile(filepath.Join(catalogue, filepath.FromSlash(o.file)))
		if err != nil {
			t.Errorf("%s: %v", o.what, err)
			continue
		}
		if found := regexp.MustCompile(o.source).Match(text); found == o.absent {
			t.Errorf("%s: %s does not have it", o.what, o.file)
		}
		if name := regexp.MustCompile(`^[a-z]+`).FindString(o.file); !played[name] {
			t.Errorf("%s: %s is not played", o.what, o.file)
		}
	}
}
