const { Buffer } = require('buffer');

function unescapeBuffer(s) {
  const out = [];
  const b = Buffer.from(`${s}`);
  for (let i = 0; i < b.length; i++) {
    if (b[i] === 37 && i + 2 < b.length) {
      const hex = String.fromCharCode(b[i + 1], b[i + 2]);
      if (/^[0-9a-fA-F]{2}$/.test(hex)) {
        out.push(parseInt(hex, 16));
        i += 2;
        continue;
      }
    }
    out.push(b[i]);
  }
  return Buffer.from(out);
}

const qs = {
  unescapeBuffer,
  unescape(s) {
    try {
      return decodeURIComponent(s);
    } catch {
      return unescapeBuffer(s).toString();
    }
  },
  escape(s) {
    if (typeof s !== 'string') s = typeof s === 'object' ? String(s) : `${s}`;
    return encodeURIComponent(s);
  },
  stringify(o, sep = '&', eq = '=', options) {
    if (o === null || typeof o !== 'object') return '';
    const encode = options && typeof options.encodeURIComponent === 'function' ? options.encodeURIComponent : qs.escape;
    const text = (v) => typeof v === 'string' ? v : typeof v === 'number' && Number.isFinite(v) || typeof v === 'bigint' || typeof v === 'boolean' ? `${v}` : '';
    return Object.keys(o).flatMap((k) => {
      const key = encode(text(k)) + (eq || '=');
      return Array.isArray(o[k]) ? o[k].map((v) => key + encode(text(v))) : [key + encode(text(o[k]))];
    }).join(sep || '&');
  },
  parse(s, sep, eq, options) {
    const out = Object.create(null);
    if (typeof s !== 'string' || s === '') return out;
    sep = sep ? `${sep}` : '&';
    eq = eq ? `${eq}` : '=';
    const decode = options && typeof options.decodeURIComponent === 'function' ? options.decodeURIComponent : qs.unescape;
    const safe = (v) => {
      v = v.replaceAll('+', ' ');
      if (!v.includes('%')) return v;
      try {
        return decode(v);
      } catch {
        return qs.unescape(v);
      }
    };
    let max = options && typeof options.maxKeys === 'number' ? options.maxKeys : 1000;
    if (max <= 0) max = Infinity;
    let n = 0;
    for (const part of s.split(sep)) {
      if (part === '') continue;
      if (n++ >= max) break;
      const at = part.indexOf(eq);
      const key = safe(at < 0 ? part : part.slice(0, at)), value = at < 0 ? '' : safe(part.slice(at + eq.length));
      if (!(key in out)) out[key] = value;
      else if (Array.isArray(out[key])) out[key].push(value);
      else out[key] = [out[key], value];
    }
    return out;
  },
};
qs.encode = qs.stringify;
qs.decode = qs.parse;
module.exports = qs;
