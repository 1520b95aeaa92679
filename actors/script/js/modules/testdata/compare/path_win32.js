const path = require('path'), { win32 } = path;
console.log(win32 === require('path/win32'), win32 === require('node:path/win32'), win32.win32 === win32, win32.posix === path, path.posix === path, path.posix.win32 === win32, win32.sep, win32.delimiter);
process.cwd = () => '/local/game';
const show = (what, f) => { let s; try { s = f(); } catch (e) { s = `${e.name} ${e.code}: ${e.message}`; } console.log(what, JSON.stringify(s)); };

// Paths from a few parts: drives, shares, devices, points and names that Windows reserves.
const parts = ['C:', 'c:\\', 'D:/', '\\', '/', '//', '\\\\', 'server', 'share\\', '.', '..', '..\\', './', 'a', 'B\\', 'b/', 'x.txt', '.e', 'x.', '..x', ':', 'CON', 'nul:', 'com1', '?', ' ', 'é', 'İ'];
let seed = 7;
const random = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return Math.floor(seed / 65536) % n; };
const any = () => { let s = ''; for (let n = random(5); n >= 0; n--) s += parts[random(parts.length)]; return s; };
const paths = ['', ...parts];
for (let i = 0; i < 150; i++) paths.push(any());
for (const p of paths) {
  show(p, () => [win32.normalize(p), win32.isAbsolute(p), win32.dirname(p), win32.basename(p), win32.basename(p, /[\\/]$/.test(p) ? undefined : '.txt'), win32.extname(p), win32.parse(p), win32.format(win32.parse(p))]);
}
const whole = ['C:\\a\\b', 'c:\\A', 'C:\\', 'D:\\a', '\\\\server\\share\\a', '\\\\server\\share', '\\\\server\\share\\B\\c', 'C:a', '\\x', '\\x\\y', 'C:/a/./b/../c', 'C:\\aé\\ß', 'c:\\Aé\\x', '\\', '\\\\.\\COM1\\x', '\\\\?\\C:\\x'];
for (const a of whole) for (const b of whole) show([a, b], () => [win32.join(a, b), win32.resolve('C:\\w', a, b), win32.resolve('\\\\s\\t', a, b), win32.relative(a, b), win32.relative(`C:\\${a}`, `c:/${b}`)]);
for (let i = 0; i < 80; i++) {
  const a = any(), b = any(), c = any();
  show([a, b, c], () => [win32.join(a, b, c), win32.resolve('C:\\w', a, b, c), win32.toNamespacedPath(`C:\\${a}`)]);
}
for (const f of [() => win32.join('a', 5), () => win32.resolve({}), () => win32.relative('a', null), () => win32.basename('a', 1), () => win32.format(null), () => win32.normalize(), () => win32.toNamespacedPath(5), () => win32.format({ root: 'C:\\', base: 'x' }), () => win32.format({ dir: 'C:\\a', name: 'x', ext: 'y' }), () => win32.toNamespacedPath('\\\\server\\share\\a')]) show(f.toString(), f);
