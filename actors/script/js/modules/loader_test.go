package modules

import (
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"troupe/actors/script"
	"troupe/actors/script/js/compile"
)

// says runs main.js of a bundle and compares what it logs with want.
func says(t *testing.T, want string, files ...string) {
	t.Helper()
	h := enable(t, files...)
	h.levels = script.LevelInfo
	if got := h.run(t, "main.js"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

const bom = "\ufeff"

func TestRequireFindsFiles(t *testing.T) {
	files := []string{
		"main.js", bom + `
			const names = ['./a', './a.js', './lib', './lib/', './lib/index.js', './data', './data.json', './pkg', './sub/deep', './sub/deep.js', 'left', 'left/more', '@org/x', 'new', 'new/part', '/local/game/a', './es', './typed', './a.b', './both'];
			for (const n of names) { const m = require(n); console.log(n, m.name || m.default || m); }
			console.log(require.resolve('./lib'), require.resolve('fs'), require.main === module, module.id, module.filename, __filename, __dirname, module.loaded);`,
		"a.js", "exports.name = 'a'", "a.b.js", "exports.name = 'a.b'",
		"lib/index.js", "exports.name = 'lib'", "data.json", bom + `{"name": "data"}`,
		"pkg/package.json", `{"main": "./out/start"}`, "pkg/out/start.js", "exports.name = 'pkg'",
		"sub/deep.js", "exports.name = 'deep ' + require('left').name + require('../a').name + require('./near').name", "sub/node_modules/near/index.js", "", "sub/near.js", "exports.name = ' near'",
		"node_modules/left/index.js", "exports.name = 'left'", "node_modules/left/more.js", "exports.name = 'more'",
		"node_modules/@org/x/package.json", `{"main": "x.js"}`, "node_modules/@org/x/x.js", "exports.name = '@org/x'",
		"node_modules/new/package.json", `{"exports": {".": {"import": "./no.mjs", "require": "./yes.js"}, "./part": "./parts/part.js"}}`,
		"node_modules/new/yes.js", "exports.name = 'new'", "node_modules/new/parts/part.js", "exports.name = 'part'",
		"es.mjs", "import { name } from './a.js'; import all from 'util'; export default 'es ' + name + typeof all.inspect",
		"typed.ts", "export const name: string = 'typed'",
		"both.js", "exports.name = 'file'", "both/index.js", "exports.name = 'folder'",
	}
	says(t, `./a a
./a.js a
./lib lib
./lib/ lib
./lib/index.js lib
./data data
./data.json data
./pkg pkg
./sub/deep deep lefta near
./sub/deep.js deep lefta near
left left
left/more more
@org/x @org/x
new new
new/part part
/local/game/a a
./es es afunction
./typed typed
./a.b a.b
./both file
/local/game/lib/index.js fs true . /local/game/main.js /local/game/main.js /local/game false`, files...)
}

func TestModulesSayWhereTheyAre(t *testing.T) {
	says(t, "true true true\nERR_UNKNOWN_FILE_EXTENSION ERR_UNKNOWN_FILE_EXTENSION",
		"main.js", `
			console.log(process.mainModule === module && process.mainModule === require.main, process.mainModule.filename === __filename, require('process').mainModule.id === '.');
			const codes = []; for (const f of [() => require('./n.node'), () => require('./c.wat')]) try { f(); } catch (e) { codes.push(e.code); } console.log(...codes);`,
		"n.node", "", "c.wat", "")
}

func TestModulesRunOnce(t *testing.T) {
	says(t, `n runs
1 1 true
n runs
again 1
[ 'main.js', 'n.js' ]
b sees a: half
a sees b: b
whole
thrown: first
thrown: first
replaced
10`,
		"main.js", `
			const n = require('./n'); n.count++;
			console.log(require('./n').count, require('./n.js').count, require('./n') === n);
			delete require.cache[require.resolve('./n')];
			console.log('again', ++require('./n').count);
			console.log(Object.keys(require.cache).map((k) => require('path').basename(k)));
			console.log(require('./cycle-a').state);
			for (let i = 0; i < 2; i++) try { require('./throws'); } catch (e) { console.log('thrown:', e.message); }
			console.log(require('./replaced')());
			require('./deep/a');`,
		"n.js", "console.log('n runs'); exports.count = 0",
		"cycle-a.js", "exports.state = 'half'; const b = require('./cycle-b'); console.log('a sees b:', b.state); exports.state = 'whole'",
		"cycle-b.js", "console.log('b sees a:', require('./cycle-a').state); exports.state = 'b'",
		"throws.js", "throw new Error('first')",
		"replaced.js", "module.exports = () => 'replaced'",
		"deep/a.js", "let n = 0; while (n < 10) n++; console.log(n)")
}

func TestTheServersOwnModulesAreStubs(t *testing.T) {
	says(t, "object object object\nmine\ntrue",
		"main.js", `
			console.log(typeof require('../src/proto/Packet_pb'), typeof require('../src/proto/CoreCommands_pb.js'), typeof require('../src/proto/GroupMessages_pb'));
			console.log(require('./src/proto/Packet_pb').mine);
			try { require('../src/proto/Other_pb'); } catch (e) { console.log(e.code === 'MODULE_NOT_FOUND'); }`,
		"src/proto/Packet_pb.js", "exports.mine = 'mine'")
}

// The error for a module that cannot be required contains its name, the file that requires it, and advice.
func TestAbsentModulesSaySo(t *testing.T) {
	for name := range absent {
		for _, request := range []string{name, "node:" + name} {
			_, err := enable(t, "lib/x.js", "require('"+request+"')").Require("lib/x.js")
			if err == nil {
				t.Errorf("%s is there", request)
				continue
			}
			for _, want := range []string{"'" + request + "'", "/local/game/lib/x.js", `"troupe": {"engine": "node"}`} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v lacks %s", request, err, want)
				}
			}
		}
	}
	says(t, "bundled\nMODULE_NOT_FOUND Cannot find module 'nope'\nRequire stack:\n- /local/game/main.js\nERR_MODULE_NOT_SERVED\nERR_INVALID_ARG_TYPE\nMODULE_NOT_FOUND",
		"main.js", `
			console.log(require('stream').name);
			for (const f of [() => require('nope'), () => require('node:nope'), () => require(5), () => require('../../etc/passwd')]) try { f(); } catch (e) { console.log(e.code, ...(e.message.includes('nope') && !e.message.includes('node:') ? [e.message] : [])); }`,
		"node_modules/stream/index.js", "exports.name = 'bundled'")
}

func TestRequireReportsErrors(t *testing.T) {
	h := enable(t, "main.js", "let a = ;", "ok.js", "try { require('./main') } catch (e) { console.log(e.name, e.message.split('\\n')[0]) }", "throws.js", "\n  null.x")
	_, err := h.Require("main.js")
	var syntax *compile.Error
	if !errors.As(err, &syntax) || syntax.Line != 1 || syntax.Column != 9 {
		t.Error(err)
	}
	if got := h.run(t, "/local/game/ok.js"); got != "INFO SyntaxError main.js:1:9: SyntaxError: Unexpected \";\"" {
		t.Error(got)
	}
	if _, err = h.Require("nope.js"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	_, err = h.Require("throws.js")
	var thrown *goja.Exception
	if !errors.As(err, &thrown) || !strings.Contains(thrown.String(), "/local/game/throws.js:2:") {
		t.Error(err)
	}
}

// process.exit ends the script at once despite catch and finally, also in a required file and in a callback
// of a built-in.
func TestExitStopsTheScript(t *testing.T) {
	for name, files := range map[string][]string{
		"main":     {"main.js", "try { process.exit(3) } catch { console.log('caught') } finally { console.log('finally') } console.log('after')"},
		"required": {"main.js", "try { require('./x') } catch { console.log('caught') } console.log('after')", "x.js", "process.exit(3); console.log('after')"},
		"callback": {"main.js", "const e = new (require('events'))(); e.on('x', () => { process.exit(3); console.log('after') }); try { e.emit('x') } catch { console.log('caught') } console.log('after')"},
		"inspect":  {"main.js", "try { console.log({ a: { [Symbol.for('nodejs.util.inspect.custom')]() { process.exit(3) } } }) } catch { console.log('caught') } console.log('after')"},
		"listener": {"main.js", "process.exitCode = 3; process.on('exit', (c) => { console.log('exit', c); process.exit(); console.log('after') }); process.exit(); console.log('after')"},
	} {
		h := enable(t, files...)
		var interrupted *goja.InterruptedError
		func() {
			defer func() {
				if r := recover(); r != nil {
					interrupted, _ = r.(*goja.InterruptedError)
				}
			}()
			_, err := h.Require("main.js")
			errors.As(err, &interrupted)
		}()
		if interrupted == nil || len(h.exit) == 0 || h.exit[0] != 3 {
			t.Errorf("%s: %v, exits %v", name, interrupted, h.exit)
		}
		if s := strings.Join(h.lines, " "); s != "" && s != "INFO exit 3" {
			t.Errorf("%s: it went on: %s", name, s)
		}
	}
}

func TestFilesAreReadOnly(t *testing.T) {
	says(t, `{"a": 1} <Buffer 7b 22 61 22 3a 20 31 7d> true false true
8 true false true
[ 'data.json', 'lib', 'main.js' ] [ 'x.js' ]
{"fleetId": "f"} true
ENOENT ENOENT: no such file or directory, open 'nope'
EACCES EACCES: permission denied, open '/etc/passwd'
EACCES EACCES: permission denied, open '../../etc/passwd'
EISDIR EISDIR: illegal operation on a directory, read
ENOTDIR ENOTDIR: not a directory, scandir 'main.js'
EROFS EROFS: read-only file system, writeFile 'x'
EROFS EROFS: read-only file system, mkdir 'd'
EROFS EROFS: read-only file system, unlink 'main.js'
ERR_INVALID_ARG_TYPE The "path" argument must be a string without null bytes
ERR_FEATURE_UNAVAILABLE_ON_PLATFORM the embedded engine does not have fs.createWriteStream; to run the script in Node.js, set "troupe": {"engine": "node"} in package.json
promised 8
callback {"a": 1}
refused EROFS
access EROFS`,
		"main.js", `
			const fs = require('fs'), path = require('path');
			console.log(fs.readFileSync('data.json', 'utf8'), fs.readFileSync(path.join(__dirname, 'data.json')), fs.existsSync('./lib/../data.json'), fs.existsSync('../../etc'), fs.existsSync(__dirname));
			const s = fs.statSync('data.json'); console.log(s.size, s.isFile(), s.isDirectory(), fs.statSync('lib').isDirectory());
			console.log(fs.readdirSync('.'), fs.readdirSync('lib'));
			console.log(fs.readFileSync('/local/gamemetadata/gamelift-metadata.json').toString(), fs.existsSync('/local/gamemetadata'));
			for (const f of [() => fs.readFileSync('nope'), () => fs.readFileSync('/etc/passwd'), () => fs.readFileSync('../../etc/passwd'), () => fs.readFileSync('lib'), () => fs.readdirSync('main.js'), () => fs.writeFileSync('x', 'y'), () => fs.mkdirSync('d'), () => fs.unlinkSync('main.js'), () => fs.readFileSync('a\0'), () => fs.createWriteStream('x')]) try { f(); console.log('no error'); } catch (e) { console.log(e.code, e.message); }
			fs.readFileSync('data.json')[0] = 0; if (fs.readFileSync('data.json')[0] === 0) console.log('the bundle was changed');
			fs.promises.readFile('data.json').then((b) => console.log('promised', b.length))
				.then(() => new Promise((done) => fs.readFile('data.json', 'utf8', (e, s) => { console.log('callback', s); done(); })))
				.then(() => fs.promises.writeFile('x', 'y')).catch((e) => { console.log('refused', e.code); return require('fs/promises').access('main.js', fs.constants.W_OK); }).catch((e) => console.log('access', e.code));`,
		"data.json", `{"a": 1}`, "lib/x.js", "")
}

func TestProcess(t *testing.T) {
	h := enable(t, "main.js", `
		process.on('exit', (code) => console.log('exit', code));
		process.once('uncaughtException', (e) => console.log('heard', e.message));
		process.nextTick((a) => { console.log('tick', a); throw new Error('in tick'); }, 5);
		console.log(process.cwd(), process.argv.slice(2), process.platform, Object.keys(process.env), process.version, process.pid);
		process.stdout.write('part'); process.stdout.write('ial 100%\n'); process.emitWarning('careful');
		console.info = (...words) => process.stdout.write(words.join(' ') + '\n'); console.info('its', 'own');
		queueMicrotask(() => { throw new Error('in job'); });`)
	h.run(t, "main.js")
	for _, want := range []bool{true, false} {
		if heard, err := h.Emit("uncaughtException", h.runtime.NewGoError(errors.New("e"))); err != nil || heard != want {
			t.Error(heard, err)
		}
	}
	if heard, err := h.Emit("exit", h.runtime.ToValue(7)); err != nil || !heard {
		t.Error(heard, err)
	}
	want := `INFO /local/game [ 'one', 'two' ] linux [] v24.0.0 1
INFO partial 100%
WARN careful
INFO its own
INFO tick 5
uncaught Error: in tick
uncaught Error: in job
INFO heard e
INFO exit 7`
	if got := strings.Join(h.lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if heard, _ := enable(t, "main.js", "").Emit("exit"); heard {
		t.Error("a script that never touched process heard of its end")
	}
}

func TestFormatFromGo(t *testing.T) {
	h := enable(t, "main.js", "")
	for source, want := range map[string]string{
		"'it'": "it", "1.5": "1.5", "0": "0", "undefined": "undefined", "null": "null", "true": "true",
		"Symbol('s')": "Symbol(s)", "({a: [1]})": "{ a: [ 1 ] }", "NaN": "NaN", "'100%'": "100%", "new Map([[1, 2]])": "Map(1) { 1 => 2 }",
		"[`it's`]": `[ 'it\'s' ]`, "var o = { n: 1 }; o.self = o; o": "{ n: 1, self: [Circular] }",
		"[1, 2, 3, 4, 5, 6, 7]": "[\n  1, 2, 3, 4, 5, 6, 7\n]", "Array.from({ length: 40 }, (_, i) => i)": "[\n" +
			"  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22,\n  23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39\n]",
	} {
		if s := h.Format(must1(h.runtime.RunString(source))); s != want {
			t.Errorf("Format(%s) = %s", source, s)
		}
	}
	r := h.runtime
	for want, args := range map[string][]goja.Value{
		"":           {},
		"a 1 b":      {r.ToValue("a"), r.ToValue(1), r.ToValue("b")},
		"a=1 %s":     {r.ToValue("a=%d %s"), r.ToValue(1)},
		"1 % 2":      {r.ToValue(1), r.ToValue("%"), r.ToValue(2)},
		"x { a: 1 }": {r.ToValue("x"), must1(r.RunString("({a: 1})"))},
	} {
		if got := h.Format(args...); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	thrower := must1(r.RunString("({ [Symbol.for('nodejs.util.inspect.custom')]() { throw new Error('no') } })"))
	if s := h.Format(thrower); !strings.Contains(s, "Error: no") {
		t.Error(s)
	}
}

func must1(v goja.Value, err error) goja.Value { must(err); return v }
