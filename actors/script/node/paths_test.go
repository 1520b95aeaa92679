package node_test

import (
	"os"
	"strings"
	"testing"

	"troupe/messages"
)

// RT-63: the modules that published scripts load, and the paths that they expect.
func TestWhatPublishedScriptsLoad(t *testing.T) {
	play(t, "\ufeff"+`'use strict';
const assert = require('assert'), fs = require('fs'), path = require('path'), util = require('util');
const { Packet } = require('../src/proto/Packet_pb');
require('../src/proto/CoreCommands_pb.js'); require('../src/proto/GroupMessages_pb');
assert.strictEqual(Packet, undefined);
const loop = require('./gameloop.js');
assert.strictEqual(require('./gameloop'), loop);
assert.strictEqual(require('./lib').name, 'index');
assert.deepStrictEqual(require('./data.json'), { a: 1 });
assert.ok(require.main === module && module.id === '.');
assert.strictEqual(require('tool')(), 'tool of node_modules');
assert.strictEqual(require('/local/game/gameloop.js'), loop);
assert.strictEqual(fs.readFileSync('/local/game/data.json', 'utf8'), '\ufeff{"a":1}');
assert.ok(fs.existsSync('/local/game') && !fs.existsSync('/local/other') && fs.statSync('/local/game/lib').isDirectory());
const metadata = JSON.parse(fs.readFileSync('/local/gamemetadata/gamelift-metadata.json'));
assert.strictEqual(metadata.FleetId, 'fleet-1');
assert.strictEqual(metadata.Name, 'arena');
assert.ok(new Buffer.from(new Uint8Array([91, 93])) instanceof Buffer);
assert.deepStrictEqual(JSON.parse(new Buffer.from('[1]')), [1]);
assert.deepStrictEqual(JSON.parse(Buffer.from([91, 93])), []);
assert.strictEqual(Buffer.from('a').constructor, Buffer);
assert.throws(() => fs.writeFileSync('/nowhere/x', ''));
for (const name of ['os', 'child_process', 'http', 'https', 'crypto', 'events', 'url', 'querystring', 'stream', 'zlib', 'dns', 'net', 'domain']) require(name);
const session = {};
exports.ssExports = {
  init(s) {
    util.inspect(s);
    assert.ok(s.getPlayers() instanceof Map);
    fs.promises.readFile('/local/game/data.json').then(() => fs.readFile('/local/gamemetadata/gamelift-metadata.json', e => console.log('read', e)));
  },
  onMessage(m) { console.log('message', m.toString(), String.fromCharCode.apply(null, m.payload), m.opcode); },
};`, setup{files: map[string]string{
		"gameloop.js": "exports.tick = 1;", "lib/index.js": "exports.name = 'index'; require('../../src/proto/Packet_pb'); require('../src/proto/Packet_pb');",
		"data.json": "\ufeff{\"a\":1}", "node_modules/tool/package.json": `{"name": "tool", "main": "./main"}`, "node_modules/tool/main.js": "module.exports = () => 'tool of ' + __dirname.split('/').slice(-2)[0];",
	}}, func(g *game) {
		g.enter().Say(3, messages.ServerPeer, 0, "hi")
		g.logged("message GameMessage { opCode: 3, sender: 1, targetPlayer: -1, targetGroup: 0, reliable: true, payload: 2 bytes } hi 3")
		g.logged("read null")
	})
}

// Paths of the original refer to the directory that replaces it, for writing as well.
func TestPathsOfTheOriginal(t *testing.T) {
	play(t, `
const fs = require('fs');
fs.writeSync(2, 'printed in ' + __dirname + '\n');
console.log('here', __dirname, __filename, process.cwd(), require.resolve('./server'));
for (const [what, f] of Object.entries({
  mkdir: () => fs.mkdirSync('/local/game/logs'),
  write: () => fs.writeFileSync('/local/game/logs', '/local/game'),
  rename: () => fs.renameSync('/local/game/server.js', '/local/game/b.js'),
  remove: () => fs.rmSync('/local/game/server.js'),
  append: () => fs.appendFileSync('/local/game/sub/a', ''),
  copy: () => fs.copyFileSync('/local/game/none', '/local/game/other'),
  stream: () => { fs.createWriteStream('/local/game/none/a').on('error', e => console.log(e.message)); },
})) {
  try { f(); console.log(what, 'done'); } catch (error) { console.log(what, error.message); }
}
exports.ssExports = { init() { console.log('metadata', fs.readFileSync('/local/gamemetadata/gamelift-metadata.json').length > 9); } };`,
		setup{}, func(g *game) {
			g.logged("here /local/game /local/game/server.js /local/game /local/game/server.js")
			g.logged("(stderr) 0: printed in /local/game")
			g.logged("copy ENOENT: no such file or directory, copyfile '/local/game/none' -> '/local/game/other'")
			g.logged("append ENOENT: no such file or directory, open '/local/game/sub/a'")
			g.logged("ENOENT: no such file or directory, open '/local/game/none/a'")
			if os.Getuid() != 0 { // root can write to a read-only directory
				g.logged("mkdir EACCES: permission denied, mkdir '/local/game/logs'")
				g.logged("rename EACCES: permission denied, rename '/local/game/server.js' -> '/local/game/b.js'")
			} else {
				g.logged("mkdir done")
				g.logged("rename done")
			}
			if strings.Contains(g.log.String(), g.dir) {
				t.Error("the folder is named as it is here")
			}
		})
}

// The entry may be any file, in the module format that its name or package.json determines.
func TestEntriesInAllFormats(t *testing.T) {
	const body = `
let session;
const hooks = { init(s) { session = s; console.log('here', helper()); }, onMessage(m) { process.exit(0); } };
`
	for name, c := range map[string]struct {
		entry, source string
		files         map[string]string
	}{
		"mjs":         {"server.mjs", "import { helper } from './helper.mjs';" + body + "export const ssExports = hooks;", map[string]string{"helper.mjs": "export const helper = () => await1; const await1 = await 1;"}},
		"await":       {"server.mjs", "let jobs = 0;\nawait null;\nsetImmediate(() => { jobs = 3; });\nprocess.nextTick(() => jobs++);\nfor (let i = 0, p = Promise.resolve(); i < 9; i++) p = p.then(() => { if (i === 8) jobs++; });\nconst helper = () => jobs - 1;" + body + "export const ssExports = hooks;", nil},
		"default":     {"server.mjs", "const helper = () => 1;" + body + "export default { ssExports: hooks };", nil},
		"type module": {"server.js", "import { helper } from './helper.js';" + body + "export const ssExports = hooks;", map[string]string{"package.json": `{"type": "module"}`, "helper.js": "export const helper = () => 1;"}},
		"sub-folder":  {"src/deep/server.js", "const { helper } = require('../helper'); require('../src/proto/Packet_pb');" + body + "exports.ssExports = hooks;", map[string]string{"src/helper.js": "exports.helper = () => 1;"}},
		"ts":          {"server.ts", "import { helper } from './helper';\nimport type { T } from './types';\nenum E { A = 1 }\n" + body + "export const ssExports = hooks;", map[string]string{"helper.ts": "export const helper = (): number => 1;\nexport enum X { Y }\n", "types.d.ts": "export type T = 1;"}},
		"ts of type":  {"src/server.mts", "import { helper } from './helper.ts';" + body + "export default { ssExports: hooks };", map[string]string{"src/helper.ts": "export function helper(this: void): number { return 1 }", "package.json": `{"type": "module"}`}},
		"cjs":         {"server.cjs", "const helper = () => 1;" + body + "exports.ssExports = hooks;", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, c.source, setup{entry: c.entry, files: c.files}, func(g *game) {
				g.logged("here 1")
				g.enter().Say(1, messages.ServerPeer, 0, "")
				g.ended("exited without processEnding")
			})
		})
	}
	t.Run("lines of TypeScript", func(t *testing.T) {
		play(t, "type A = {\n  a: number;\n};\nfunction f(a: A) {\n  console.log('here', a);\n  null!.x;\n}\nexport const ssExports = { init() { f({a: 1}); } };", setup{entry: "server.ts", failing: true}, func(g *game) {
			g.logged("[INFO] (server.ts) 5: here { a: 1 }")
			g.logged("[ERROR] (server.ts) 6: Error in init: TypeError: Cannot read properties of null (reading 'x')\n    at f (/local/game/server.ts:6:")
		})
	})
	t.Run("a module that fails", func(t *testing.T) {
		play(t, "import './nowhere.mjs';", setup{entry: "server.mjs", failing: true}, func(g *game) {
			g.ended("Cannot find module '/local/game/nowhere.mjs'")
		})
	})
}
