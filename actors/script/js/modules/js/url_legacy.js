// url.parse and its family.
const querystring = require('querystring');

const slashed = new Set(['http', 'https', 'ftp', 'gopher', 'file', 'ws', 'wss']);

function Url() {
  for (const key of ['protocol', 'slashes', 'auth', 'host', 'port', 'hostname', 'hash', 'search', 'query', 'pathname', 'path', 'href']) this[key] = null;
}

const escapes = /[\t\n\r "'<>\\^`{|}]/g;
const escapeRest = (s) => s.replace(escapes, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

function parse(input, withQuery, slashesMeanHost) {
  if (input instanceof Url) return input;
  if (typeof input !== 'string') {
    const e = new TypeError(`The "url" argument must be of type string. Received ${input === null || input === undefined ? input : typeof input}`);
    e.code = 'ERR_INVALID_ARG_TYPE';
    throw e;
  }
  const u = new Url();
  let rest = input.trim();
  const at = rest.indexOf('?'), hash = rest.indexOf('#');
  const headEnd = at >= 0 && (hash < 0 || at < hash) ? at : hash >= 0 ? hash : rest.length;
  rest = rest.slice(0, headEnd).replaceAll('\\', '/') + rest.slice(headEnd);
  const m = /^[a-z0-9.+-]+:/i.exec(rest);
  let scheme = '';
  if (m) {
    u.protocol = m[0].toLowerCase();
    scheme = u.protocol.slice(0, -1);
    rest = rest.slice(m[0].length);
  }
  const two = rest.startsWith('//');
  if (two && (m || slashesMeanHost || /^\/\/[^@/]+@[^@/]+/.test(rest)) && scheme !== 'javascript') {
    u.slashes = true;
    rest = rest.slice(2);
  }
  if (u.slashes || scheme !== '' && scheme !== 'javascript' && !slashed.has(scheme)) {
    let end = rest.search(/[/?#]/);
    if (end < 0) end = rest.length;
    const user = rest.lastIndexOf('@', end);
    let from = 0;
    if (user >= 0 && user < end) {
      u.auth = decodeURIComponent(rest.slice(0, user));
      from = user + 1;
    }
    let host = rest.slice(from, end);
    rest = rest.slice(end);
    const p = /:(\d*)$/.exec(host);
    if (p) {
      if (p[1] !== '') u.port = p[1];
      host = host.slice(0, p.index);
    }
    const six = host.startsWith('[') && host.endsWith(']');
    if (!six) {
      const bad = host.search(/[^a-zA-Z0-9.\-_+\u0080-\uffff]/);
      if (bad >= 0) {
        rest = `/${host.slice(bad)}${rest}`;
        host = host.slice(0, bad);
      }
    }
    host = host.toLowerCase();
    if (/[^\x00-\x7f]/.test(host)) host = require('url_parser').host(host, true) || '';
    u.hostname = six ? host.slice(1, -1) : host;
    u.host = host + (u.port === null ? '' : `:${u.port}`);
  }
  if (scheme !== 'javascript') rest = escapeRest(rest);
  const h = rest.indexOf('#');
  if (h >= 0) {
    u.hash = rest.slice(h);
    rest = rest.slice(0, h);
  }
  const q = rest.indexOf('?');
  if (q >= 0) {
    u.search = rest.slice(q);
    u.query = rest.slice(q + 1);
    rest = rest.slice(0, q);
  } else if (withQuery) {
    u.search = null;
    u.query = '';
  }
  if (withQuery) u.query = querystring.parse(u.query);
  if (rest !== '') u.pathname = rest;
  if (slashed.has(scheme) && u.hostname && u.pathname === null) u.pathname = '/';
  if (u.pathname !== null || u.search !== null) u.path = (u.pathname || '') + (u.search || '');
  u.href = format(u);
  return u;
}

function format(u) {
  if (typeof u === 'string') u = parse(u);
  else if (u === null || typeof u !== 'object') {
    const e = new TypeError(`The "urlObject" argument must be one of type object or string. Received ${u === null || u === undefined ? u : typeof u}`);
    e.code = 'ERR_INVALID_ARG_TYPE';
    throw e;
  }
  const auth = u.auth ? `${encodeURIComponent(u.auth).replaceAll('%3A', ':').replaceAll("'", '%27')}@` : '';
  let protocol = u.protocol || '', pathname = u.pathname || '', hash = u.hash || '';
  let host = '';
  if (u.host) host = auth + u.host;
  else if (u.hostname) {
    host = auth + (u.hostname.includes(':') && !u.hostname.startsWith('[') ? `[${u.hostname}]` : u.hostname);
    if (u.port) host += `:${u.port}`;
  }
  let search = u.search || (u.query !== null && typeof u.query === 'object' && Object.keys(u.query).length ? `?${querystring.stringify(u.query)}` : '');
  if (protocol && !protocol.endsWith(':')) protocol += ':';
  pathname = pathname.replaceAll('#', '%23').replaceAll('?', '%3F');
  if (u.slashes || slashed.has(protocol.slice(0, -1)) && (host || protocol === 'file:')) {
    if (u.slashes || host) {
      if (pathname && pathname[0] !== '/') pathname = `/${pathname}`;
      host = `//${host}`;
    } else host = '//';
  }
  search = search.replaceAll('#', '%23');
  if (hash && hash[0] !== '#') hash = `#${hash}`;
  if (search && search[0] !== '?') search = `?${search}`;
  return protocol + host + pathname + search + hash;
}

// resolve goes by RFC 3986, as browsers resolve links.
function resolve(from, to) {
  const a = parse(from, false, true), b = parse(to, false, true);
  if (b.protocol && b.protocol !== a.protocol) return b.href;
  const out = new Url();
  out.protocol = b.protocol || a.protocol;
  out.slashes = b.slashes || a.slashes;
  out.hash = b.hash;
  if (b.slashes && b.host !== null) {
    Object.assign(out, { auth: b.auth, host: b.host, hostname: b.hostname, port: b.port, pathname: b.pathname && squash(b.pathname), search: b.search });
    return format(out);
  }
  Object.assign(out, { auth: a.auth, host: a.host, hostname: a.hostname, port: a.port });
  if (!b.pathname) {
    out.pathname = a.pathname;
    out.search = b.search === null ? a.search : b.search;
  } else {
    out.search = b.search;
    if (b.pathname[0] === '/') out.pathname = squash(b.pathname);
    else {
      const dir = (a.pathname || '').replace(/[^/]*$/, '') || (a.host ? '/' : '');
      out.pathname = squash(dir + b.pathname);
    }
  }
  return format(out);
}

function squash(path) {
  const absolute = path[0] === '/';
  const parts = path.split('/');
  const out = [];
  const folder = /(^|\/)\.{0,2}$/.test(path);
  for (const p of parts.slice(absolute ? 1 : 0)) {
    if (p === '.') continue;
    if (p !== '..') out.push(p);
    else if (out.length && out[out.length - 1] !== '..') out.pop();
    else if (!absolute) out.push('..');
  }
  let s = out.join('/');
  if (folder && s !== '' && !s.endsWith('/')) s += '/';
  return absolute ? `/${s}` : s;
}

Url.prototype.parse = function (...args) { return Object.assign(this, parse(...args)); };
Url.prototype.format = function () { return format(this); };
Url.prototype.resolve = function (to) { return resolve(this.href, to); };
module.exports = { Url, parse, format, resolve, resolveObject: (from, to) => parse(resolve(from, to)) };
