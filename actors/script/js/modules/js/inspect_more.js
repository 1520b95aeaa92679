// What inspect.js needs for values other than objects and arrays.
const { any, array, prefix, indented } = require('inspect');

const more = (n) => `... ${n} more item${n > 1 ? 's' : ''}`;

// shape returns how a value is printed: what is before its parts and properties, and the parts.
function shape(c, value, kind, name, keys) {
  switch (kind) {
    case 'Set': case 'Map': return { open: `${prefix(name, kind, `(${value.size})`)}{`, parts: kind === 'Set' ? set : map };
    case 'TypedArray': return { open: `${prefix(name, kind, `(${value.length})`)}[`, parts: array };
    case 'Function': return { before: `[Function${value.name ? `: ${value.name}` : ' (anonymous)'}]` };
    case 'RegExp': return { before: RegExp.prototype.toString.call(value) };
    case 'Date': return { before: Number.isNaN(Date.prototype.getTime.call(value)) ? 'Invalid Date' : Date.prototype.toISOString.call(value) };
    case 'Error': return { before: error(c, value, keys) };
  }
  return { open: `${prefix(name, 'Object')}{` };
}

function error(c, e, keys) {
  const stack = binding.stack(e.stack ? String(e.stack) : Error.prototype.toString.call(e));
  if (Object.hasOwn(e, 'cause')) keys.push('cause');
  for (const key of ['name', 'message', 'stack']) if (keys.includes(key)) keys.splice(keys.indexOf(key), 1);
  return indented(c, stack.includes('\n    at') ? stack : `[${stack}]`);
}

function collection(c, items, size, print) {
  const out = [], max = Math.max(0, c.maxArrayLength);
  c.indent += 2;
  for (const v of items) {
    if (out.length >= max) {
      out.push(more(size - max));
      break;
    }
    out.push(print(v));
  }
  c.indent -= 2;
  return out;
}
const set = (c, value, depth) => collection(c, Set.prototype.values.call(value), value.size, (v) => any(c, v, depth));
const map = (c, value, depth) => collection(c, Map.prototype.entries.call(value), value.size, ([k, v]) => `${any(c, k, depth)} => ${any(c, v, depth)}`);

// rows prints many short elements in rows.
function rows(c, out) {
  const lines = [];
  for (let i = 0, last; i < out.length; i++) {
    if (i > 0 && out[i].length <= 16 && last.length + out[i].length + 2 + c.indent <= c.breakLength) lines[lines.length - 1] = last = `${last}, ${out[i]}`;
    else lines.push(last = out[i]);
  }
  return lines;
}

module.exports = { shape, more, rows };
