// util.format, with the output of Node.js 20.
const { inspect, hasOwn } = require('inspect');

const number = (n) => n === 0 && 1 / n < 0 ? '-0' : `${n}`;

const isBuiltIn = (f) => {
  const c = f.name.charCodeAt(0);
  return c >= 65 && c <= 90 && Function.prototype.toString.call(f).endsWith('{ [native code] }');
};

// printsItself reports whether an object has a toString of its own making.
function printsItself(v) {
  if (binding.proxy(v) !== undefined) return false;
  if (typeof v.toString !== 'function') return false;
  if (hasOwn(v, 'toString')) return true;
  let p = v;
  do p = Object.getPrototypeOf(p); while (!hasOwn(p, 'toString'));
  const d = Object.getOwnPropertyDescriptor(p, 'constructor');
  return !(d !== undefined && typeof d.value === 'function' && isBuiltIn(d.value));
}

function json(v) {
  try {
    return JSON.stringify(v);
  } catch (e) {
    if (/circular|cyclic/i.test(e.message)) return '[Circular]';
    throw e;
  }
}

function formatWithOptions(options, ...args) {
  const first = args[0];
  let out = '', next = 0;
  if (typeof first === 'string') {
    if (args.length === 1) return first;
    next = 1;
    let last = 0;
    for (let i = 0; i < first.length - 1; i++) {
      if (first.charCodeAt(i) !== 37) continue;
      const f = first[++i];
      if (f === '%') {
        out += first.slice(last, i);
        last = i + 1;
        continue;
      }
      if (next === args.length) continue;
      let s;
      const v = args[next];
      switch (f) {
        case 's':
          if (typeof v === 'number') s = number(v);
          else if (typeof v === 'bigint') s = `${v}n`;
          else if (typeof v !== 'object' && typeof v !== 'function' || v === null || typeof v === 'object' && printsItself(v) || typeof v === 'function' && hasOwn(v, 'toString')) s = String(v);
          else if (typeof v === 'function') s = String(v);
          else s = inspect(v, { ...options, depth: 0, colors: false, compact: 3 });
          break;
        case 'd':
          s = typeof v === 'bigint' ? `${v}n` : typeof v === 'symbol' ? 'NaN' : number(Number(v));
          break;
        case 'i':
          s = typeof v === 'bigint' ? `${v}n` : typeof v === 'symbol' ? 'NaN' : number(Number.parseInt(v));
          if (s === '0' && String(v).trim().charCodeAt(0) === 45) s = '-0';
          break;
        case 'f':
          s = typeof v === 'symbol' ? 'NaN' : number(Number.parseFloat(v));
          break;
        case 'j': s = json(v); break;
        case 'o': s = inspect(v, { ...options, showHidden: true, showProxy: true, depth: 4 }); break;
        case 'O': s = inspect(v, options); break;
        case 'c': s = ''; break;
        default: continue;
      }
      out += first.slice(last, i - 1) + s;
      last = i + 1;
      next++;
    }
    out += first.slice(last);
  }
  for (; next < args.length; next++) {
    if (next > 0) out += ' ';
    out += typeof args[next] === 'string' ? args[next] : inspect(args[next], options);
  }
  return out;
}

const format = (...args) => formatWithOptions(undefined, ...args);

module.exports = { format, formatWithOptions };
