// The URLs of the WHATWG standard, and the older ones of Node.js.
const legacy = require('url_legacy');
const parser = require('url_parser');
const custom = Symbol.for('nodejs.util.inspect.custom');

const encodeForm = (s) => parser.percent(parser.usv(`${s}`), /[^A-Za-z0-9*\-._]/).replaceAll('%20', '+');

function decodeForm(s) {
  s = s.replaceAll('+', ' ');
  return s.includes('%') ? parser.unpercent(s) : s;
}

function parseForm(s) {
  const list = [];
  for (const part of s.split('&')) {
    if (part === '') continue;
    const at = part.indexOf('=');
    list.push(at < 0 ? [decodeForm(part), ''] : [decodeForm(part.slice(0, at)), decodeForm(part.slice(at + 1))]);
  }
  return list;
}

function coded(Class, code, message) {
  const e = new Class(message);
  e.code = code;
  return e;
}

let attach, reload;
class URLSearchParams {
  #list = [];
  #url = null;
  static {
    attach = (p, url) => { p.#url = url; };
    reload = (p, query) => { p.#list = parseForm(query || ''); };
  }
  constructor(init) {
    if (init === undefined || init === null) return;
    if (typeof init === 'object' || typeof init === 'function') {
      const iterate = init[Symbol.iterator];
      if (iterate === this[Symbol.iterator] && init instanceof URLSearchParams) this.#list = init.#list.map((p) => [...p]);
      else if (iterate !== undefined && iterate !== null) {
        if (typeof iterate !== 'function') throw coded(TypeError, 'ERR_ARG_NOT_ITERABLE', 'Query pairs must be iterable');
        for (const pair of init) {
          const list = pair !== null && typeof pair === 'object' && typeof pair[Symbol.iterator] === 'function' ? [...pair] : [];
          if (list.length !== 2) throw coded(TypeError, 'ERR_INVALID_TUPLE', 'Each query pair must be an iterable [name, value] tuple');
          this.#list.push([parser.usv(`${list[0]}`), parser.usv(`${list[1]}`)]);
        }
      } else for (const key of Reflect.ownKeys(init)) {
        const d = Object.getOwnPropertyDescriptor(init, key);
        if (d && d.enumerable) this.#list.push([parser.usv(`${key}`), parser.usv(`${init[key]}`)]);
      }
      return;
    }
    init = parser.usv(`${init}`);
    this.#list = parseForm(init[0] === '?' ? init.slice(1) : init);
  }
  #changed() { if (this.#url) this.#url(this.toString()); }
  get size() { return this.#list.length; }
  append(name, value) {
    this.#list.push([parser.usv(`${name}`), parser.usv(`${value}`)]);
    this.#changed();
  }
  delete(name, value) {
    this.#list = this.#list.filter(([k, v]) => k !== `${name}` || value !== undefined && v !== `${value}`);
    this.#changed();
  }
  get(name) {
    const found = this.#list.find(([k]) => k === `${name}`);
    return found ? found[1] : null;
  }
  getAll(name) { return this.#list.filter(([k]) => k === `${name}`).map(([, v]) => v); }
  has(name, value) { return this.#list.some(([k, v]) => k === `${name}` && (value === undefined || v === `${value}`)); }
  set(name, value) {
    name = parser.usv(`${name}`);
    const i = this.#list.findIndex(([k]) => k === name);
    if (i < 0) this.#list.push([name, parser.usv(`${value}`)]);
    else {
      this.#list[i][1] = parser.usv(`${value}`);
      this.#list = this.#list.filter(([k], j) => k !== name || j === i);
    }
    this.#changed();
  }
  sort() {
    this.#list.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
    this.#changed();
  }
  forEach(f, self) {
    if (typeof f !== 'function') throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "callback" argument must be of type function. Received ${f}`);
    for (const [k, v] of this.#list) f.call(self, v, k, this);
  }
  *entries() { for (let i = 0; i < this.#list.length; i++) yield [...this.#list[i]]; }
  *keys() { for (let i = 0; i < this.#list.length; i++) yield this.#list[i][0]; }
  *values() { for (let i = 0; i < this.#list.length; i++) yield this.#list[i][1]; }
  toString() { return this.#list.map(([k, v]) => `${encodeForm(k)}=${encodeForm(v)}`).join('&'); }
  [custom](depth, options) {
    if (typeof depth === 'number' && depth < 0) return '[Object]';
    const { inspect } = require('inspect');
    const parts = this.#list.map(([k, v]) => `${inspect(k, options)} => ${inspect(v, options)}`);
    if (parts.length === 0) return 'URLSearchParams {}';
    const length = parts.reduce((n, p) => n + p.length + 2, -2);
    return length <= options.breakLength ? `URLSearchParams { ${parts.join(', ')} }` : `URLSearchParams {\n  ${parts.join(',\n  ')} }`;
  }
}
Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, { value: URLSearchParams.prototype.entries, writable: true, configurable: true });
Object.defineProperty(URLSearchParams.prototype, Symbol.toStringTag, { value: 'URLSearchParams', configurable: true });

function invalid(input, base) {
  const e = coded(TypeError, 'ERR_INVALID_URL', 'Invalid URL');
  e.input = input;
  if (base !== undefined) e.base = base;
  return e;
}

class URL {
  #u;
  #params = null;
  constructor(input, base) {
    if (arguments.length === 0) throw coded(TypeError, 'ERR_MISSING_ARGS', 'The "url" argument must be specified');
    input = `${input}`;
    let from;
    if (base !== undefined) {
      base = `${base}`;
      from = parser.parse(base);
      if (from === null) throw invalid(input, base);
    }
    this.#u = parser.parse(input, from);
    if (this.#u === null) throw invalid(input, base);
  }
  static canParse(input, base) {
    try {
      new URL(input, base);
      return true;
    } catch {
      return false;
    }
  }
  static parse(input, base) { return URL.canParse(input, base) ? new URL(input, base) : null; }
  #set(part, v) {
    parser.set(this.#u, part, `${v}`);
    if (this.#params && (part === 'search' || part === 'href')) reload(this.#params, this.#u.query);
  }
  get href() { return parser.serialize(this.#u); }
  set href(v) {
    const u = parser.parse(`${v}`);
    if (u === null) throw invalid(`${v}`);
    this.#u = u;
    if (this.#params) reload(this.#params, u.query);
  }
  get origin() { return parser.origin(this.#u); }
  get protocol() { return `${this.#u.scheme}:`; }
  set protocol(v) { this.#set('protocol', v); }
  get username() { return this.#u.username; }
  set username(v) { this.#set('username', v); }
  get password() { return this.#u.password; }
  set password(v) { this.#set('password', v); }
  get host() { return this.#u.host === null ? '' : this.#u.host + (this.#u.port === null ? '' : `:${this.#u.port}`); }
  set host(v) { this.#set('host', v); }
  get hostname() { return this.#u.host === null ? '' : this.#u.host; }
  set hostname(v) { this.#set('hostname', v); }
  get port() { return this.#u.port === null ? '' : `${this.#u.port}`; }
  set port(v) { this.#set('port', v); }
  get pathname() { return parser.pathname(this.#u); }
  set pathname(v) { this.#set('pathname', v); }
  get search() { return this.#u.query ? `?${this.#u.query}` : ''; }
  set search(v) { this.#set('search', v); }
  get searchParams() {
    if (this.#params === null) {
      this.#params = new URLSearchParams(this.#u.query || '');
      attach(this.#params, (query) => { this.#u.query = query === '' ? null : query; });
    }
    return this.#params;
  }
  get hash() { return this.#u.fragment ? `#${this.#u.fragment}` : ''; }
  set hash(v) { this.#set('hash', v); }
  toString() { return this.href; }
  toJSON() { return this.href; }
  [custom](depth, options) {
    if (typeof depth === 'number' && depth < 0) return this;
    const o = {};
    for (const key of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'searchParams', 'hash']) o[key] = this[key];
    return `${this.constructor.name} ${require('inspect').inspect(o, options)}`;
  }
}
for (const key of ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'searchParams', 'hash', 'toString', 'toJSON']) {
  Object.defineProperty(URL.prototype, key, { enumerable: true });
}
Object.defineProperty(URL.prototype, Symbol.toStringTag, { value: 'URL', configurable: true });

function fileURLToPath(u) {
  if (typeof u === 'string') u = new URL(u);
  if (u === null || typeof u !== 'object' || typeof u.href !== 'string') throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "path" argument must be of type string or an instance of URL. Received ${u}`);
  if (u.protocol !== 'file:') throw coded(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
  if (u.hostname !== '') throw coded(TypeError, 'ERR_INVALID_FILE_URL_HOST', 'File URL host must be "localhost" or empty on linux');
  if (/%2f/i.test(u.pathname)) throw coded(TypeError, 'ERR_INVALID_FILE_URL_PATH', 'File URL path must not include encoded / characters');
  return decodeURIComponent(u.pathname);
}

module.exports = {
  URL, URLSearchParams, ...legacy,
  format(u, options) {
    if (!(u instanceof URL)) return legacy.format(u);
    const o = { fragment: true, search: true, auth: true, ...options };
    const c = new URL(u.href);
    if (!o.fragment) c.hash = '';
    if (!o.search) c.search = '';
    if (!o.auth) c.username = c.password = '';
    return c.href;
  },
  fileURLToPath,
  pathToFileURL(p) {
    const path = require('path');
    let full = path.resolve(p);
    if (p.endsWith('/') && full !== '/') full += '/';
    return new URL(`file://${full.replaceAll('%', '%25').replaceAll('\\', '%5C').replaceAll('\n', '%0A').replaceAll('\r', '%0D').replaceAll('\t', '%09').replaceAll('?', '%3F').replaceAll('#', '%23')}`);
  },
  domainToASCII: (d) => parser.host(`${d}`, true) || '',
  domainToUnicode: (d) => parser.host(`${d}`, true) || '',
  urlToHttpOptions(u) {
    const o = { protocol: u.protocol, hostname: u.hostname.replace(/^\[(.*)\]$/, '$1'), hash: u.hash, search: u.search, pathname: u.pathname, path: `${u.pathname || ''}${u.search || ''}`, href: u.href };
    if (u.port !== '') o.port = Number(u.port);
    if (u.username || u.password) o.auth = `${decodeURIComponent(u.username)}:${decodeURIComponent(u.password)}`;
    return o;
  },
};
