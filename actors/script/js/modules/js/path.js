function check(v, name = 'path') {
  if (typeof v === 'string') return;
  throw require('errors').badType(name, 'of type string', v);
}

function format(o) {
  if (o === null || typeof o !== 'object') throw require('errors').badType('pathObject', 'of type object', o);
  const dir = o.dir || o.root;
  const base = o.base || `${o.name || ''}${o.ext ? (o.ext[0] === '.' ? '' : '.') + o.ext : ''}`;
  if (!dir) return base;
  return dir === o.root ? `${dir}${base}` : `${dir}/${base}`;
}

// squash resolves . and .. segments.
function squash(path, absolute) {
  const out = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') out.push(part);
    else if (out.length > 0 && out[out.length - 1] !== '..') out.pop();
    else if (!absolute) out.push('..');
  }
  return out.join('/');
}

function normalize(path) {
  check(path);
  if (path === '') return '.';
  const absolute = path[0] === '/';
  let out = squash(path, absolute);
  if (out === '') return absolute ? '/' : path.endsWith('/') ? './' : '.';
  if (path.endsWith('/')) out += '/';
  return absolute ? '/' + out : out;
}

function join(...parts) {
  for (const p of parts) check(p);
  const joined = parts.filter((p) => p !== '').join('/');
  return joined === '' ? '.' : normalize(joined);
}

function resolve(...parts) {
  let out = '';
  for (let i = parts.length - 1; i >= 0 && out[0] !== '/'; i--) {
    check(parts[i], `paths[${i}]`);
    if (parts[i] !== '') out = out === '' ? parts[i] : `${parts[i]}/${out}`;
  }
  if (out[0] !== '/') out = `${require('process').cwd()}/${out}`;
  return '/' + squash(out, true);
}

function relative(from, to) {
  check(from, 'from');
  check(to, 'to');
  if (from === to) return '';
  const a = resolve(from).split('/').filter(Boolean), b = resolve(to).split('/').filter(Boolean);
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return [...a.slice(n).map(() => '..'), ...b.slice(n)].join('/');
}

function dirname(path) {
  check(path);
  if (path === '') return '.';
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end--;
  const at = path.lastIndexOf('/', end - 1);
  if (at === -1) return '.';
  if (at === 0) return '/';
  return at === 1 && path[0] === '/' ? '//' : path.slice(0, at);
}

function basename(path, suffix) {
  check(path);
  if (suffix !== undefined) check(suffix, 'suffix');
  if (suffix === path && suffix !== '') return '';
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  const base = path.slice(path.lastIndexOf('/', end - 1) + 1, end);
  return suffix !== undefined && suffix !== '' && base.endsWith(suffix) && suffix !== base ? base.slice(0, -suffix.length) : base;
}

function extname(path) {
  const base = basename(path);
  const dot = base.lastIndexOf('.');
  return dot <= 0 || base === '..' ? '' : base.slice(dot);
}

function parse(path) {
  check(path);
  const root = path[0] === '/' ? '/' : '';
  const base = basename(path), ext = extname(path);
  let dir = dirname(path);
  if (path === '' || dir === '.' && !path.startsWith('.')) dir = root;
  if (dir === '.' && !/^\.\/+[^/]/.test(path)) dir = '';
  return { root, dir, base, ext, name: ext === '' ? base : base.slice(0, -ext.length) };
}

const posix = {
  resolve, normalize, join, relative, dirname, basename, extname, parse,
  format,
  isAbsolute(path) {
    check(path);
    return path[0] === '/';
  },
  sep: '/', delimiter: ':', posix: null,
};
posix.posix = posix;
module.exports = posix;
