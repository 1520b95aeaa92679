// What inspect.js needs for values other than objects and arrays; apart, because each function takes 0.7 KiB of a runtime.
const { any, prefix, hasOwn, extra } = require('inspect');

const more = (n) => `... ${n} more item${n > 1 ? 's' : ''}`;

// shape says how a value is printed: as a text, or what is around its parts and properties.
function shape(c, value, k, name, tag, keys) {
  switch (k) {
    case 'Set': case 'Map': {
      const size = Object.getOwnPropertyDescriptor(globalThis[k].prototype, 'size').get.call(value), p = prefix(name, tag, k, `(${size})`);
      if (size === 0 && keys.length === 0) return `${p}{}`;
      return { braces: [`${p}{`, '}'], parts: (c, value, depth) => collection(c, value, depth, k, size) };
    }
    case 'TypedArray': {
      const braces = [`${prefix(name, tag, value[binding.toStringTag] || 'TypedArray', `(${value.length})`)}[`, ']'];
      return value.length === 0 && keys.length === 0 ? `${braces[0]}]` : { braces, type: extra, parts: typedArray };
    }
    case 'Arguments': return keys.length === 0 ? '[Arguments] {}' : { braces: ['[Arguments] {', '}'] };
    case 'Function': return { base: functionBase(value, name) };
    case 'RegExp': return { base: (name === k ? '' : prefix(name, tag, k)) + RegExp.prototype.toString.call(value) };
    case 'Date': return { base: (name === k ? '' : prefix(name, tag, k)) + (Number.isNaN(Date.prototype.getTime.call(value)) ? 'Invalid Date' : Date.prototype.toISOString.call(value)) };
    case 'Error': return { base: errorBase(c, value, keys) };
    case 'Number': case 'String': case 'Boolean': case 'Symbol': return { base: `[${k}: ${any(c, globalThis[k].prototype.valueOf.call(value), 0)}]` };
  }
  const p = name === 'Object' && tag === '' ? '' : prefix(name, tag, 'Object');
  return keys.length === 0 ? `${p}{}` : { braces: [`${p}{`, '}'] };
}

function functionBase(f, name) {
  const source = Function.prototype.toString.call(f);
  if (source.startsWith('class') && source.endsWith('}')) {
    const parent = Object.getPrototypeOf(f);
    return `[class ${hasOwn(f, 'name') && f.name ? f.name : '(anonymous)'}${parent && parent.name ? ` extends ${parent.name}` : ''}]`;
  }
  const type = source.startsWith('async') ? 'AsyncFunction' : /^function\s*\*/.test(source) ? 'GeneratorFunction' : 'Function';
  return `[${type}${name === null ? ' (null prototype)' : ''}${f.name === '' || typeof f.name !== 'string' ? ' (anonymous)' : `: ${f.name}`}]`;
}

function errorBase(c, e, keys) {
  const stack = binding.stack(e.stack ? String(e.stack) : Error.prototype.toString.call(e));
  for (const key of ['name', 'message', 'stack']) {
    const i = keys.indexOf(key);
    if (i >= 0 && (typeof e[key] !== 'string' || stack.includes(key === 'stack' ? binding.stack(e[key]) : e[key]))) keys.splice(i, 1);
  }
  for (const key of ['cause', 'errors']) if (hasOwn(e, key) && !keys.includes(key)) keys.push(key);
  const shown = stack.includes('\n    at') ? stack : `[${stack}]`;
  return c.indent === 0 ? shown : shown.replaceAll('\n', `\n${' '.repeat(c.indent)}`);
}

function typedArray(c, value) {
  const max = Math.min(Math.max(0, c.maxArrayLength), value.length);
  const out = [];
  for (let i = 0; i < max; i++) out.push(any(c, value[i], 0));
  if (value.length > max) out.push(more(value.length - max));
  return out;
}

function collection(c, value, depth, k, size) {
  const out = [];
  c.indent += 2;
  const max = Math.max(0, c.maxArrayLength), pairs = k === 'Map';
  for (const v of pairs ? Map.prototype.entries.call(value) : Set.prototype.values.call(value)) {
    if (out.length >= max) {
      out.push(more(size - max));
      break;
    }
    out.push(pairs ? `${any(c, v[0], depth)} => ${any(c, v[1], depth)}` : any(c, v, depth));
  }
  c.indent -= 2;
  return out;
}

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
