// util.format.
const { inspect } = require('inspect');

const number = (n) => n === 0 && 1 / n < 0 ? '-0' : `${n}`;

// printsItself reports whether an object has a toString of its own making.
const printsItself = (v) => binding.proxy(v) === undefined && typeof v.toString === 'function' && !Function.prototype.toString.call(v.toString).endsWith('{ [native code] }');

function json(v) {
  try {
    return String(JSON.stringify(v));
  } catch (e) {
    if (/circular|cyclic/i.test(e.message)) return '[Circular]';
    throw e;
  }
}

const numeric = (v, f) => typeof v === 'symbol' ? 'NaN' : number(f(v));

// text is what takes the place of % and a letter, or undefined if that is none.
function text(letter, v) {
  switch (letter) {
    case 's':
      if (typeof v === 'number') return number(v);
      if (typeof v !== 'object' || v === null) return String(v);
      return printsItself(v) ? String(v) : inspect(v, { depth: 0 });
    case 'd': return numeric(v, Number);
    case 'i': return numeric(v, Number.parseInt);
    case 'f': return numeric(v, Number.parseFloat);
    case 'j': return json(v);
    case 'o': return inspect(v, { depth: 4 });
    case 'O': return inspect(v);
    case 'c': return '';
  }
  return undefined;
}

function format(...args) {
  const first = args[0];
  let out = '', next = 0;
  if (typeof first === 'string') {
    if (args.length === 1) return first;
    next = 1;
    let last = 0;
    for (let i = 0; i < first.length - 1; i++) {
      if (first.charCodeAt(i) !== 37) continue;
      let s = '%';
      if (first[++i] !== '%') {
        if (next >= args.length) continue;
        s = text(first[i], args[next]);
        if (s === undefined) continue;
        next++;
      }
      out += first.slice(last, i - 1) + s;
      last = i + 1;
    }
    out += first.slice(last);
  }
  for (; next < args.length; next++) {
    if (next > 0) out += ' ';
    out += typeof args[next] === 'string' ? args[next] : inspect(args[next]);
  }
  return out;
}

module.exports = { format };
