// What inspect.js needs for values other than objects and arrays; apart, because each function takes 0.7 KiB of a runtime.
const { any, prefix, indented } = require('inspect');

const more = (n) => `... ${n} more item${n > 1 ? 's' : ''}`;

// shape says how a value is printed: what is before its parts and properties, and what they are.
function shape(c, value, kind, name, keys) {
  switch (kind) {
    case 'Set': case 'Map': return { open: `${prefix(name, kind, `(${value.size})`)}{`, parts: kind === 'Set' ? set : map };
    case 'TypedArray': return { open: `${prefix(name, kind, `(${value.length})`)}[`, parts: typedArray };
    case 'Function': return { before: functionName(value) };
    case 'RegExp': return { before: RegExp.prototype.toString.call(value) };
    case 'Date': return { before: Number.isNaN(Date.prototype.getTime.call(value)) ? 'Invalid Date' : Date.prototype.toISOString.call(value) };
    case 'Error': return { before: error(c, value, keys) };
  }
  return { open: `${prefix(name, 'Object')}{` };
}

function functionName(f) {
  if (!Function.prototype.toString.call(f).startsWith('class')) return f.name ? `[Function: ${f.name}]` : '[Function (anonymous)]';
  const parent = Object.getPrototypeOf(f);
  return `[class ${f.name || '(anonymous)'}${parent && parent.name ? ` extends ${parent.name}` : ''}]`;
}

function error(c, e, keys) {
  const stack = binding.stack(e.stack ? String(e.stack) : Error.prototype.toString.call(e));
  if (Object.hasOwn(e, 'cause')) keys.push('cause');
  for (const key of ['name', 'message', 'stack']) if (keys.includes(key)) keys.splice(keys.indexOf(key), 1);
  return indented(c, stack.includes('\n    at') ? stack : `[${stack}]`);
}

function typedArray(c, value) {
  const out = [], max = Math.min(Math.max(0, c.maxArrayLength), value.length);
  for (let i = 0; i < max; i++) out.push(any(c, value[i], 0));
  if (value.length > max) out.push(more(value.length - max));
  return out;
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

// columns puts many short elements into rows.
function columns(c, out, value) {
  const n = c.maxArrayLength < out.length ? out.length - 1 : out.length;
  let total = 0, longest = 0;
  for (let i = 0; i < n; i++) {
    total += out[i].length + 2;
    longest = Math.max(longest, out[i].length);
  }
  const widest = longest + 2;
  if (widest * 3 + c.indent >= c.breakLength || total / widest <= 5 && longest > 6) return out;
  const bias = Math.max(widest - 3 - Math.sqrt(widest - total / out.length), 1);
  const count = Math.min(Math.round(Math.sqrt(2.5 * bias * n) / bias), Math.floor((c.breakLength - c.indent) / widest), c.compact * 4, 15);
  if (count <= 1) return out;
  const widths = [];
  for (let i = 0; i < count; i++) {
    widths[i] = 2;
    for (let j = i; j < n; j += count) widths[i] = Math.max(widths[i], out[j].length + 2);
  }
  let numbers = true;
  for (let i = 0; i < out.length && numbers; i++) numbers = typeof value[i] === 'number';
  const rows = [];
  for (let i = 0; i < n; i += count) {
    const last = Math.min(i + count, n) - 1;
    let row = '';
    for (let j = i; j < last; j++) row += numbers ? `${out[j]}, `.padStart(widths[j - i]) : `${out[j]}, `.padEnd(widths[j - i]);
    rows.push(row + (numbers ? out[last].padStart(widths[last - i] - 2) : out[last]));
  }
  if (n < out.length) rows.push(out[n]);
  return rows;
}

module.exports = { shape, more, columns };
