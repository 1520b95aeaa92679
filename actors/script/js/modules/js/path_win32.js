// The paths of Windows, for scripts that take apart what was made there.
const { check, format } = require('path_common');

const isSep = (path, i) => path[i] === '/' || path[i] === '\\';
const hasDrive = (path) => /^[A-Za-z]:/.test(path);
const share = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)/;
const reserved = /^(?:CON|PRN|AUX|NUL|(?:COM|LPT)[1-9\xb9\xb2\xb3])$/i;
const isReserved = (path, colon) => reserved.test(path.slice(0, colon));

// rootOf parts what is not to be normalized: a drive or a share, and where it ends.
function rootOf(path) {
  if (isSep(path, 0)) {
    if (path.length === 1 || !isSep(path, 1)) return { device: '', absolute: true, end: 1 };
    const found = share.exec(path);
    if (found === null) return { device: '', absolute: true, end: 0 };
    if (found[1] === '.' || found[1] === '?') return { device: `\\\\${found[1]}`, absolute: true, end: 4 };
    return { device: `\\\\${found[1]}\\${found[2]}`, absolute: true, end: found[0].length };
  }
  if (!hasDrive(path)) return { device: '', absolute: false, end: 0 };
  const absolute = isSep(path, 2);
  return { device: path.slice(0, 2), absolute, end: absolute ? 3 : 2 };
}

// squash resolves . and .. segments.
function squash(path, absolute) {
  const out = [];
  for (const part of path.split(/[\\/]/)) {
    if (part === '' || part === '.') continue;
    if (part !== '..') out.push(part);
    else if (out.length > 0 && out[out.length - 1] !== '..') out.pop();
    else if (!absolute) out.push('..');
  }
  return out.join('\\');
}

function normalize(path) {
  check(path);
  if (path === '') return '.';
  if (path.length === 1) return path === '/' ? '\\' : path;
  let { device, absolute, end } = rootOf(path);
  if (device !== '' && isSep(path, 0) && end === path.length && end !== 4) return device + '\\';
  const colon = path.indexOf(':');
  if (device === '' && !absolute && colon > 0 && isReserved(path, colon)) {
    end = colon + 1;
    device = path.slice(0, end);
  }
  let tail = squash(path.slice(end), absolute);
  if (tail === '' && !absolute) tail = '.';
  if (tail !== '' && isSep(path, path.length - 1)) tail += '\\';
  if (!absolute && device === '' && (colon !== -1 && hasDrive(tail) || /:(?:[\\/]|$)/.test(path))) return `.\\${tail}`;
  if (isReserved(path, colon)) return `.\\${device}${tail}`;
  return device + (absolute ? '\\' : '') + tail;
}

function join(...parts) {
  for (const p of parts) check(p);
  const given = parts.filter((p) => p !== '');
  if (given.length === 0) return '.';
  const joined = given.join('\\');
  // Only the first part can be meant as a share.
  return normalize(/^[\\/]{2}[^\\/]/.test(given[0]) ? joined : joined.replace(/^[\\/]{2,}/, '\\'));
}

function resolve(...parts) {
  let device = '', tail = '', absolute = false;
  for (let i = parts.length - 1; i >= -1; i--) {
    if (i >= 0) check(parts[i], `paths[${i}]`);
    const path = i >= 0 ? parts[i] : require('process').cwd();
    if (path === '') continue;
    const root = rootOf(path);
    if (root.device !== '') {
      if (device === '') device = root.device;
      else if (root.device.toLowerCase() !== device.toLowerCase()) continue;
    }
    if (!absolute) {
      tail = `${path.slice(root.end)}\\${tail}`;
      absolute = root.absolute;
    }
    if (absolute && device !== '') break;
  }
  tail = squash(tail, absolute);
  return (absolute ? `${device}\\${tail}` : device + tail) || '.';
}

function relative(from, to) {
  check(from, 'from');
  check(to, 'to');
  if (from === to) return '';
  const target = resolve(to);
  const a = resolve(from).split('\\').filter(Boolean), b = target.split('\\').filter(Boolean);
  let n = 0;
  while (n < a.length && n < b.length && a[n].toLowerCase() === b[n].toLowerCase()) n++;
  if (n === 0 && a.length > 0 && b.length > 0) return target;
  return [...a.slice(n).map(() => '..'), ...b.slice(n)].join('\\');
}

// rootEnd is how much of a path is root for those that take it apart.
function rootEnd(path) {
  if (isSep(path, 0)) {
    const found = path.length > 1 && isSep(path, 1) ? share.exec(path) : null;
    return found === null ? 1 : Math.min(found[0].length + 1, path.length);
  }
  if (!hasDrive(path)) return 0;
  return isSep(path, 2) ? 3 : 2;
}

// trimmed leaves separators at the end out.
function trimmed(path, start) {
  let end = path.length;
  while (end > start && isSep(path, end - 1)) end--;
  return end;
}

function before(path, start, end) {
  while (end > start && !isSep(path, end - 1)) end--;
  return end;
}

function dirname(path) {
  check(path);
  if (path === '') return '.';
  if (path.length === 1) return isSep(path, 0) ? path : '.';
  const root = rootEnd(path);
  if (root === path.length && isSep(path, 0)) return path;
  const last = before(path, root, trimmed(path, root));
  if (last > root) return path.slice(0, last - 1);
  return root === 0 ? '.' : path.slice(0, root);
}

function basename(path, suffix) {
  check(path);
  if (suffix !== undefined) check(suffix, 'suffix');
  if (suffix === path && suffix !== '') return '';
  const start = hasDrive(path) ? 2 : 0, end = trimmed(path, start);
  const base = path.slice(before(path, start, end), end);
  return suffix !== undefined && suffix !== '' && base.endsWith(suffix) && suffix !== base ? base.slice(0, -suffix.length) : base;
}

function extname(path) {
  const base = basename(path), dot = base.lastIndexOf('.');
  return dot <= 0 || base === '..' ? '' : base.slice(dot);
}

function parse(path) {
  check(path);
  const root = path.slice(0, rootEnd(path));
  const end = trimmed(path, root.length), start = before(path, root.length, end);
  const base = path.slice(start, end), dot = base.lastIndexOf('.');
  const ext = dot <= 0 || base === '..' ? '' : base.slice(dot);
  return { root, dir: start > root.length ? path.slice(0, start - 1) : root, base, ext, name: ext === '' ? base : base.slice(0, -ext.length) };
}

const win32 = {
  resolve, normalize, join, relative, dirname, basename, extname, parse,
  format: (o) => format(o, '\\'),
  isAbsolute(path) {
    check(path);
    return isSep(path, 0) || hasDrive(path) && isSep(path, 2);
  },
  toNamespacedPath(path) {
    if (typeof path !== 'string' || path === '') return path;
    const resolved = resolve(path);
    if (resolved.length <= 2) return path;
    if (/^\\\\[^?.]/.test(resolved)) return `\\\\?\\UNC\\${resolved.slice(2)}`;
    return /^[A-Za-z]:\\/.test(resolved) ? `\\\\?\\${resolved}` : resolved;
  },
  sep: '\\', delimiter: ';', posix: require('path'), win32: null,
};
win32.win32 = win32;
module.exports = win32;
