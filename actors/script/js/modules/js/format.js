const { inspect } = require('inspect');

// printsItself reports whether an object has a toString that is not built in.
const printsItself = (v) => binding.target(v) === undefined && typeof v.toString === 'function' && !Function.prototype.toString.call(v.toString).endsWith('{ [native code] }');

function json(v) {
  try {
    return String(JSON.stringify(v));
  } catch (e) {
    if (/circular|cyclic/i.test(e.message)) return '[Circular]';
    throw e;
  }
}

// text returns the replacement of % and a letter, or undefined if there is none.
function text(letter, v) {
  switch (letter) {
    case 's': return typeof v === 'object' && v !== null && !printsItself(v) ? inspect(v, { depth: 0 }) : Object.is(v, -0) ? '-0' : String(v);
    case 'd': return typeof v === 'symbol' ? 'NaN' : inspect(Number(v));
    case 'i': return typeof v === 'symbol' ? 'NaN' : inspect(Number.parseInt(v, 10));
    case 'f': return typeof v === 'symbol' ? 'NaN' : inspect(Number.parseFloat(v));
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
