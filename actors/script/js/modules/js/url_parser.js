// Parsing of URLs as https://url.spec.whatwg.org says, on records
// {scheme, username, password, host, port, path, query, fragment}; path is a list,
// or a string if it is opaque.
const { Buffer } = require('buffer');

const ports = { 'http': 80, 'https': 443, 'ws': 80, 'wss': 443, 'ftp': 21, 'file': null };
const special = (u) => Object.prototype.hasOwnProperty.call(ports, u.scheme);

// Characters that are encoded, besides what is not ASCII.
const inControl = /[\x00-\x1f\x7f-\uffff]/;
const inFragment = /[\x00-\x20"<>`\x7f-\uffff]/;
const inQuery = /[\x00-\x20"#<>\x7f-\uffff]/;
const inSpecialQuery = /[\x00-\x20"#<>'\x7f-\uffff]/;
const inPath = /[\x00-\x20"#<>?`{}^\x7f-\uffff]/;
const inUser = /[\x00-\x20"#<>?`{}/:;=@[\\\]^|\x7f-\uffff]/;

const usv = (s) => /[\ud800-\udfff]/.test(s) ? s.replace(/[\ud800-\udfff]/gu, '\ufffd') : s;

function percent(s, set) {
  let out = '';
  for (const c of s) {
    if (!set.test(c)) out += c;
    else for (const b of Buffer.from(c)) out += `%${b < 16 ? '0' : ''}${b.toString(16).toUpperCase()}`;
  }
  return out;
}

function unpercent(s) { return require('querystring').unescapeBuffer(s).toString(); }

function ipv4(s) {
  const parts = s.split('.');
  if (parts[parts.length - 1] === '' && parts.length > 1) parts.pop();
  const last = parts[parts.length - 1];
  if (!/^\d+$/.test(last) && !/^0[xX][0-9a-fA-F]*$/.test(last)) return undefined;
  if (parts.length > 4) return null;
  const n = [];
  for (const p of parts) {
    if (/^0[xX][0-9a-fA-F]*$/.test(p)) n.push(p.length === 2 ? 0 : parseInt(p.slice(2), 16));
    else if (/^0[0-7]+$/.test(p)) n.push(parseInt(p, 8));
    else if (/^(0|[1-9]\d*)$/.test(p)) n.push(parseInt(p, 10));
    else return null;
  }
  for (let i = 0; i < n.length - 1; i++) if (n[i] > 255) return null;
  if (n[n.length - 1] >= 256 ** (5 - n.length)) return null;
  let v = n[n.length - 1];
  for (let i = 0; i < n.length - 1; i++) v += n[i] * 256 ** (3 - i);
  return [24, 16, 8, 0].map((shift) => Math.floor(v / 2 ** shift) % 256).join('.');
}

function ipv6(s) {
  let tail = [];
  const dotted = /^(.*:)(\d{1,3}(?:\.\d{1,3}){3})$/.exec(s);
  if (dotted) {
    const b = dotted[2].split('.');
    if (b.some((x) => x > 255 || x.length > 1 && x[0] === '0')) return null;
    tail = [b[0] * 256 + +b[1], b[2] * 256 + +b[3]];
    s = dotted[1].endsWith('::') ? dotted[1] : dotted[1].slice(0, -1);
  }
  const halves = s.split('::');
  if (halves.length > 2) return null;
  const read = (h) => h === '' ? [] : h.split(':').map((x) => /^[0-9a-fA-F]{1,4}$/.test(x) ? parseInt(x, 16) : NaN);
  let a = read(halves[0]), b = halves.length === 2 ? [...read(halves[1]), ...tail] : [];
  if (halves.length === 1) a = [...a, ...tail];
  if ([...a, ...b].some(Number.isNaN)) return null;
  if (halves.length === 1 ? a.length !== 8 : a.length + b.length > 7) return null;
  const all = [...a, ...new Array(8 - a.length - b.length).fill(0), ...b];
  let at = -1, length = 1;
  for (let i = 0; i < 8; i++) {
    let j = i;
    while (j < 8 && all[j] === 0) j++;
    if (j - i > length) [at, length] = [i, j - i];
    i = Math.max(i, j - 1);
  }
  const hex = all.map((x) => x.toString(16));
  return at < 0 ? hex.join(':') : `${hex.slice(0, at).join(':')}::${hex.slice(at + length).join(':')}`;
}

// puny encodes one label (RFC 3492).
function puny(label) {
  const points = [...label].map((c) => c.codePointAt(0));
  let out = points.filter((p) => p < 128).map((p) => String.fromCharCode(p)).join('');
  const basic = out.length;
  let handled = basic, n = 128, delta = 0, bias = 72;
  if (basic > 0) out += '-';
  while (handled < points.length) {
    const m = Math.min(...points.filter((p) => p >= n));
    delta += (m - n) * (handled + 1);
    n = m;
    for (const p of points) {
      if (p < n) delta++;
      if (p !== n) continue;
      let q = delta;
      for (let k = 36; ; k += 36) {
        const t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias;
        if (q < t) break;
        out += digit(t + (q - t) % (36 - t));
        q = Math.floor((q - t) / (36 - t));
      }
      out += digit(q);
      delta = Math.floor(delta / (handled === basic ? 700 : 2));
      delta += Math.floor(delta / (handled + 1));
      let k = 0;
      for (; delta > 455; k += 36) delta = Math.floor(delta / 35);
      bias = k + Math.floor(36 * delta / (delta + 38));
      delta = 0;
      handled++;
    }
    delta++;
    n++;
  }
  return `xn--${out}`;

  function digit(d) { return String.fromCharCode(d < 26 ? 97 + d : 22 + d); }
}

// host returns a host in its final form, null if it is none.
function host(s, isSpecial) {
  if (s[0] === '[') {
    if (!s.endsWith(']')) return null;
    const a = ipv6(s.slice(1, -1));
    return a === null ? null : `[${a}]`;
  }
  if (!isSpecial) return /[\x00\t\n\r #/:<>?@[\\\]^|]/.test(s) ? null : percent(s, inControl);
  let d = s.includes('%') ? unpercent(s) : s;
  d = d.normalize('NFKC').toLowerCase().replace(/[\u3002\uff0e\uff61]/g, '.').replaceAll('\u00ad', '');
  if (/[^\x00-\x7f]/.test(d)) d = d.split('.').map((l) => /[^\x00-\x7f]/.test(l) ? puny(l) : l).join('.');
  if (d === '' || /[\x00-\x20"#%/:<>?@[\\\]^`{|}\x7f]/.test(d)) return null;
  const v4 = ipv4(d);
  return v4 === undefined ? d : v4;
}

const dot = (s) => s === '.' || s.toLowerCase() === '%2e';
const dots = (s) => ['..', '.%2e', '%2e.', '%2e%2e'].includes(s.toLowerCase());
const drive = (s) => /^[a-zA-Z][:|]$/.test(s);

function shorten(u) {
  if (u.scheme === 'file' && u.path.length === 1 && /^[a-zA-Z]:$/.test(u.path[0])) return;
  u.path.pop();
}

function addPath(u, s) {
  const parts = (special(u) ? s.replaceAll('\\', '/') : s).split('/');
  parts.forEach((part, i) => {
    const last = i === parts.length - 1;
    if (dots(part)) {
      shorten(u);
      if (last) u.path.push('');
    } else if (dot(part)) {
      if (last) u.path.push('');
    } else {
      if (u.scheme === 'file' && u.path.length === 0 && drive(part)) part = `${part[0]}:`;
      u.path.push(percent(part, inPath));
    }
  });
}

// authority reads user, host and port; false if there is an error.
function authority(u, s) {
  const at = s.lastIndexOf('@');
  if (at >= 0) {
    const user = s.slice(0, at), colon = user.indexOf(':');
    u.username = percent(colon < 0 ? user : user.slice(0, colon), inUser);
    if (colon >= 0) u.password = percent(user.slice(colon + 1), inUser);
    s = s.slice(at + 1);
    if (s === '') return false;
  }
  const m = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/.exec(s);
  if (m === null) return false;
  if (m[1] === '') {
    if (special(u) || m[2] !== undefined || at >= 0) return false;
    u.host = '';
    return true;
  }
  u.host = host(m[1], special(u));
  return u.host !== null && (m[2] === undefined || port(u, m[2]));
}

function port(u, s) {
  if (s === '') return true;
  if (!/^\d+$/.test(s) || +s > 65535) return false;
  u.port = +s === ports[u.scheme] ? null : +s;
  return true;
}

function parse(input, base) {
  let s = usv(input).replace(/^[\x00-\x20]+|[\x00-\x20]+$/g, '').replace(/[\t\n\r]/g, '');
  const u = { scheme: '', username: '', password: '', host: null, port: null, path: [], query: null, fragment: null };
  const hash = s.indexOf('#');
  if (hash >= 0) {
    u.fragment = percent(s.slice(hash + 1), inFragment);
    s = s.slice(0, hash);
  }
  const m = /^([a-zA-Z][a-zA-Z0-9+\-.]*):/.exec(s);
  let rest = s;
  if (m) {
    u.scheme = m[1].toLowerCase();
    rest = s.slice(m[0].length);
  } else if (!base) return null;

  const query = () => {
    const at = rest.indexOf('?');
    if (at < 0) return;
    u.query = percent(rest.slice(at + 1), special(u) ? inSpecialQuery : inQuery);
    rest = rest.slice(0, at);
  };
  const slash = (c) => c === '/' || special(u) && c === '\\';
  const afterSlashes = () => {
    const end = rest.search(special(u) ? /[/\\]/ : /\//);
    const a = end < 0 ? rest : rest.slice(0, end);
    rest = end < 0 ? '' : rest.slice(end);
    return authority(u, a);
  };

  if (!m || special(u) && base && base.scheme === u.scheme && !(slash(rest[0]) && slash(rest[1])) && u.scheme !== 'file') {
    // Relative to base.
    if (typeof base.path === 'string') {
      if (s !== '' || hash < 0) return null;
      return { ...base, fragment: u.fragment };
    }
    if (!m) u.scheme = base.scheme;
    if (u.scheme === 'file') return file();
    query();
    if (slash(rest[0]) && slash(rest[1])) {
      rest = special(u) ? rest.replace(/^[/\\]+/, '') : rest.slice(2);
      if (!afterSlashes()) return null;
      if (rest !== '') addPath(u, rest.slice(1));
      else if (special(u)) u.path = [''];
      return u;
    }
    Object.assign(u, { username: base.username, password: base.password, host: base.host, port: base.port });
    relativePath();
    return u;
  }
  if (u.scheme === 'file') return file();
  if (special(u)) {
    query();
    rest = rest.replace(/^[/\\]+/, '');
    if (!afterSlashes()) return null;
    u.path = [];
    addPath(u, rest.slice(1));
    return u;
  }
  query();
  if (rest.startsWith('//')) {
    rest = rest.slice(2);
    if (!afterSlashes()) return null;
    if (rest !== '') addPath(u, rest.slice(1));
  } else if (rest[0] === '/') addPath(u, rest.slice(1));
  else u.path = percent(rest, inControl);
  return u;

  function relativePath() {
    if (slash(rest[0])) addPath(u, rest.slice(1));
    else if (rest === '') {
      u.path = [...base.path];
      if (u.query === null) u.query = base.query;
    } else {
      u.path = [...base.path];
      shorten(u);
      addPath(u, rest);
    }
  }

  function file() {
    u.host = '';
    query();
    if (slash(rest[0]) && slash(rest[1])) {
      rest = rest.slice(2);
      const end = rest.search(/[/\\]/);
      const h = end < 0 ? rest : rest.slice(0, end);
      if (!drive(h)) {
        rest = end < 0 ? '' : rest.slice(end);
        if (h !== '') {
          u.host = host(h, true);
          if (u.host === null) return null;
          if (u.host === 'localhost') u.host = '';
        }
      }
      addPath(u, slash(rest[0]) ? rest.slice(1) : rest);
      return u;
    }
    if (base && base.scheme === 'file') {
      u.host = base.host;
      if (!/^[a-zA-Z][:|]([/\\]|$)/.test(rest)) {
        relativePath();
        return u;
      }
    }
    addPath(u, slash(rest[0]) ? rest.slice(1) : rest);
    return u;
  }
}

const pathname = (u) => typeof u.path === 'string' ? u.path : u.path.map((p) => `/${p}`).join('');

function serialize(u) {
  let s = `${u.scheme}:`;
  if (u.host !== null) {
    s += '//';
    if (u.username !== '' || u.password !== '') s += `${u.username}${u.password === '' ? '' : `:${u.password}`}@`;
    s += u.host + (u.port === null ? '' : `:${u.port}`);
  } else if (typeof u.path !== 'string' && u.path.length > 1 && u.path[0] === '') s += '/.';
  return s + pathname(u) + (u.query === null ? '' : `?${u.query}`) + (u.fragment === null ? '' : `#${u.fragment}`);
}

function origin(u) {
  if (u.scheme === 'blob') {
    const inner = parse(pathname(u));
    return inner !== null && /^https?$/.test(inner.scheme) ? origin(inner) : 'null';
  }
  return special(u) && u.scheme !== 'file' ? `${u.scheme}://${u.host}${u.port === null ? '' : `:${u.port}`}` : 'null';
}

// set changes one part of a record, or leaves it as it is.
function set(u, part, v) {
  v = usv(v).replace(/[\t\n\r]/g, '');
  const opaque = typeof u.path === 'string', noUser = u.host === null || u.host === '' || u.scheme === 'file';
  switch (part) {
    case 'protocol': {
      const m = /^([a-zA-Z][a-zA-Z0-9+\-.]*)(:|$)/.exec(v);
      if (m === null) return;
      const scheme = m[1].toLowerCase();
      const was = special(u), will = Object.prototype.hasOwnProperty.call(ports, scheme);
      if (was !== will || scheme === 'file' && (u.username !== '' || u.password !== '' || u.port !== null) || u.scheme === 'file' && u.host === '') return;
      u.scheme = scheme;
      if (u.port === ports[scheme]) u.port = null;
      return;
    }
    case 'username': if (!noUser) u.username = percent(v, inUser); return;
    case 'password': if (!noUser) u.password = percent(v, inUser); return;
    case 'host': case 'hostname': {
      if (opaque) return;
      const end = v.search(special(u) ? /[/\\?#]/ : /[/?#]/);
      const m = /^(\[[^\]]*\]|[^:]*)(?::(\d*))?/.exec(end < 0 ? v : v.slice(0, end));
      if (m[1] === '' && special(u) && u.scheme !== 'file' || part === 'hostname' && m[2] !== undefined) return;
      const h = m[1] === '' ? '' : host(m[1], special(u));
      if (h === null || h === '' && (u.username !== '' || u.password !== '' || u.port !== null)) return;
      u.host = h;
      if (part === 'host' && m[2]) port(u, m[2]);
      return;
    }
    case 'port': {
      if (noUser) return;
      if (v === '') u.port = null;
      const m = /^\d+/.exec(v);
      if (m) port(u, m[0]);
      return;
    }
    case 'pathname':
      if (opaque) return;
      u.path = [];
      addPath(u, (special(u) ? /^[/\\]/ : /^\//).test(v) ? v.slice(1) : v);
      return;
    case 'search':
      u.query = v === '' ? null : percent(v[0] === '?' ? v.slice(1) : v, special(u) ? inSpecialQuery : inQuery);
      return;
    case 'hash':
      u.fragment = v === '' ? null : percent(v[0] === '#' ? v.slice(1) : v, inFragment);
  }
}

module.exports = { parse, serialize, origin, pathname, set, host, percent, unpercent, usv };
