const custom = Symbol.for('nodejs.util.inspect.custom');
const { escape, unescape } = binding, { coded } = require('errors');

// parse returns the parts of a URL; undefined: it is none.
function parse(input, base) {
  const u = binding.parse(input, base);
  if (u !== undefined) u.search = u.search.replace(/[^!$-;=?-~]+/g, encodeURIComponent);
  return u;
}

function parseForm(s) {
  return s.split('&').filter((part) => part !== '').map((part) => {
    const at = part.indexOf('=');
    return at < 0 ? [unescape(part), ''] : [unescape(part.slice(0, at)), unescape(part.slice(at + 1))];
  });
}

let attach, reload;
class URLSearchParams {
  #list = [];
  #url = null;
  static {
    attach = (p, url) => { p.#url = url; };
    reload = (p, query) => { p.#list = parseForm(query); };
  }
  constructor(init) {
    if (init === undefined || init === null) return;
    if (typeof init !== 'object') {
      init = `${init}`;
      this.#list = parseForm(init[0] === '?' ? init.slice(1) : init);
      return;
    }
    for (const pair of typeof init[Symbol.iterator] === 'function' ? init : Object.entries(init)) {
      const [name, value, ...more] = pair;
      if (value === undefined || more.length !== 0) throw coded(TypeError, 'ERR_INVALID_TUPLE', 'Each query pair must be an iterable [name, value] tuple');
      this.#list.push([`${name}`, `${value}`]);
    }
  }
  #changed() { if (this.#url) this.#url(this.toString()); }
  get size() { return this.#list.length; }
  append(name, value) {
    this.#list.push([`${name}`, `${value}`]);
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
    const first = this.#list.find(([k]) => k === `${name}`);
    if (first === undefined) return this.append(name, value);
    first[1] = `${value}`;
    this.#list = this.#list.filter((p) => p === first || p[0] !== first[0]);
    this.#changed();
  }
  sort() {
    this.#list.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0);
    this.#changed();
  }
  forEach(f, self) { for (const [k, v] of this.#list) f.call(self, v, k, this); }
  *entries() { for (let i = 0; i < this.#list.length; i++) yield [...this.#list[i]]; }
  *keys() { for (const [k] of this.entries()) yield k; }
  *values() { for (const [, v] of this.entries()) yield v; }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return this.#list.map(([k, v]) => `${escape(k)}=${escape(v)}`).join('&'); }
  [custom]() { return `URLSearchParams { ${this} }`; }
}

const hostOf = (u) => u.hostname + (u.port === '' ? '' : `:${u.port}`);
const authority = (u) => u.username === '' && u.password === '' ? '' : `${u.username}${u.password === '' ? '' : `:${u.password}`}@`;
const hrefOf = (u) => `${u.protocol}${u.hostname !== '' || u.protocol === 'file:' ? `//${authority(u)}${hostOf(u)}` : ''}${u.pathname}${u.search}${u.hash}`;
const led = (v, sign) => v === '' || v[0] === sign ? v : sign + v;
const parts = {
  protocol: (v) => v.endsWith(':') ? v : `${v}:`, username: encodeURIComponent, password: encodeURIComponent, hostname: (v) => v, port: (v) => v,
  pathname: (v) => led(v, '/').replaceAll('?', '%3F').replaceAll('#', '%23'), search: (v) => v === '?' ? '' : led(v, '?').replaceAll('#', '%23'), hash: (v) => v === '#' ? '' : led(v, '#'),
};

class URL {
  #u;
  #params = null;
  constructor(input, base) {
    this.#u = parse(`${input}`, base === undefined ? undefined : `${base}`);
    if (this.#u === undefined) throw Object.assign(coded(TypeError, 'ERR_INVALID_URL', 'Invalid URL'), { input: `${input}` });
  }
  static canParse(input, base) { return parse(`${input}`, base === undefined ? undefined : `${base}`) !== undefined; }
  static {
    for (const part of Object.keys(parts)) {
      Object.defineProperty(URL.prototype, part, {
        get() { return this.#u[part]; },
        set(v) { this.#set(part, parts[part](`${v}`)); },
        enumerable: true, configurable: true,
      });
    }
  }
  // A value that makes no URL is ignored.
  #set(part, v) {
    const u = parse(hrefOf({ ...this.#u, [part]: v }));
    if (u === undefined) return;
    this.#u = u;
    if (this.#params && part === 'search') reload(this.#params, u.search.slice(1));
  }
  get href() { return hrefOf(this.#u); }
  set href(v) {
    this.#u = new URL(v).#u;
    if (this.#params) reload(this.#params, this.#u.search.slice(1));
  }
  get origin() { return /^(https?|wss?|ftp):$/.test(this.#u.protocol) ? `${this.#u.protocol}//${hostOf(this.#u)}` : 'null'; }
  get host() { return hostOf(this.#u); }
  set host(v) {
    const u = parse(`${this.#u.protocol}//${v}`);
    if (u !== undefined) this.#u = { ...this.#u, hostname: u.hostname, port: u.port };
  }
  get searchParams() {
    if (this.#params === null) {
      this.#params = new URLSearchParams(this.#u.search);
      attach(this.#params, (query) => { this.#u.search = query === '' ? '' : `?${query}`; });
    }
    return this.#params;
  }
  toString() { return this.href; }
  toJSON() { return this.href; }
  [custom]() { return `URL { ${this} }`; }
}

module.exports = {
  URL, URLSearchParams,
  format: (u) => `${u}`,
  fileURLToPath(u) {
    u = new URL(u);
    if (u.protocol !== 'file:') throw coded(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
    return decodeURIComponent(u.pathname);
  },
  pathToFileURL: (p) => new URL(`file://${require('path').resolve(p).split('/').map(encodeURIComponent).join('/')}`),
};
