// util.inspect of plain values. Each function, and each method of the engine that is used, takes 0.7 KiB of a runtime, the first iterator 5 KiB. So other
// values are in inspect_more.js, and loops here count.
const rare = () => require('inspect_more');

function inspect(value, options, depth) {
  const given = typeof options === 'boolean' ? depth === undefined ? {} : { depth } : options; // of inspect(value, showHidden, depth)
  const c = { ...inspect.defaultOptions, ...given, stylize: String, seen: [], indent: 0, level: 0 };
  if (c.depth === null) c.depth = Infinity;
  if (c.maxArrayLength === null) c.maxArrayLength = Infinity;
  if (c.maxStringLength === null) c.maxStringLength = Infinity;
  return any(c, value, 0);
}
inspect.custom = Symbol.for('nodejs.util.inspect.custom');
inspect.defaultOptions = { depth: 2, customInspect: true, maxArrayLength: 100, maxStringLength: 10000, breakLength: 80, compact: 3 };

function primitive(c, v) {
  if (typeof v === 'string') {
    const n = v.length - c.maxStringLength;
    return n <= 0 ? binding.quote(v) : `${binding.quote(v.slice(0, c.maxStringLength))}... ${n} more character${n > 1 ? 's' : ''}`;
  }
  return Object.is(v, -0) ? '-0' : String(v);
}

function any(c, value, depth) {
  if (value === null || typeof value !== 'object' && typeof value !== 'function') return primitive(c, value);
  const context = value;
  for (let target = binding.target(value); target !== undefined; target = binding.target(value)) { // of a proxy
    if (target === null) return '<Revoked Proxy>';
    value = target;
  }
  const custom = c.customInspect ? value[inspect.custom] : undefined;
  if (typeof custom === 'function' && custom !== inspect && !(value.constructor && value.constructor.prototype === value)) {
    const made = custom.call(context, c.depth - depth, { ...c, depth: c.depth - depth }, inspect);
    if (made !== context) return indented(c, typeof made === 'object' ? any(c, made, depth) : `${made}`);
  }
  return c.seen.includes(value) ? '[Circular]' : object(c, value, depth);
}

const indented = (c, text) => text.replaceAll('\n', `\n${' '.repeat(c.indent)}`);

// className returns the name of the first constructor in the chain of prototypes, or null.
function className(o) {
  while (o !== null && o !== undefined) {
    const d = Object.getOwnPropertyDescriptor(o, 'constructor');
    if (d !== undefined && typeof d.value === 'function' && d.value.name !== '') return `${d.value.name}`;
    o = Object.getPrototypeOf(o);
  }
  return null;
}

// prefix returns what is before the bracket of a value that is no plain object or array.
const prefix = (name, fallback, size = '') => name === null ? `[${fallback}${size}: null prototype] ` : `${name}${size} `;

const isIndex = (k) => typeof k === 'string' && k.charCodeAt(0) <= 57 && String(k >>> 0) === k && k !== '4294967295';

function keysOf(v, list) {
  if (list && v.length > 10000 && ArrayBuffer.isView(v)) return [];
  let keys = Object.keys(v);
  if (list && keys.length !== 0) keys = isIndex(keys[keys.length - 1]) ? [] : keys.filter((k) => !isIndex(k)); // indexes come first
  const symbols = Object.getOwnPropertySymbols(v);
  for (let i = 0; i < symbols.length; i++) if (Object.getOwnPropertyDescriptor(v, symbols[i]).enumerable) keys.push(symbols[i]);
  return keys;
}

function object(c, value, depth) {
  let kind = binding.kind(value);
  if (kind === 'Object' && value instanceof Error) kind = 'Error'; // its class is a function
  const name = className(value), list = kind === 'Array' || kind === 'TypedArray', keys = keysOf(value, list);
  let before = '', open = '{', close = list ? ']' : '}', parts;
  if (kind === 'Array') {
    open = name === 'Array' ? '[' : `${prefix(name, kind, `(${value.length})`)}[`;
    parts = array;
  } else if (kind === 'Object') {
    if (name !== 'Object') open = `${prefix(name, kind)}{`;
  } else ({ before = '', open = open, parts } = rare().shape(c, value, kind, name, keys));
  if (keys.length === 0) {
    if (before !== '') return before;
    if (list ? value.length === 0 : parts === undefined || value.size === 0) return open + close;
  }
  if (depth > c.depth) return `[${name === null ? `${kind}: null prototype` : name}]`;
  // The engine ends scripts that recurse too deeply.
  if (depth > 250) return `[${name}: Inspection interrupted prematurely]`;
  c.seen.push(value);
  c.level = depth + 1;
  const out = parts === undefined ? [] : parts(c, value, depth + 1);
  for (let i = 0; i < keys.length; i++) out[out.length] = property(c, value, depth + 1, keys[i]);
  c.seen.pop();
  return layout(c, out, before === '' ? open : `${before} ${open}`, close, list, depth + 1, value);
}

function array(c, value, depth) {
  const out = [], max = Math.min(Math.max(0, c.maxArrayLength), value.length);
  for (let i = 0; i < max; i++) {
    if (i in value) out.push(member(c, value, depth, i));
    else if (out[out.length - 1] !== '<empty items>') out.push('<empty items>');
  }
  if (max < value.length) out.push(rare().more(value.length - max));
  return out;
}

// member prints a property, without its getter.
function member(c, value, depth, key) {
  const d = Object.getOwnPropertyDescriptor(value, key);
  if (d !== undefined && d.get !== undefined) return d.set === undefined ? '[Getter]' : '[Getter/Setter]';
  if (d !== undefined && d.set !== undefined) return '[Setter]';
  c.indent += 2;
  const text = any(c, d === undefined ? value[key] : d.value, depth);
  c.indent -= 2;
  return text;
}

function property(c, value, depth, key) {
  const label = typeof key === 'symbol' ? `[${key.toString()}]` : binding.label(key);
  return `${label}: ${member(c, value, depth, key)}`;
}

// layout puts parts on one line if they are few and short, otherwise on lines of their own.
function layout(c, out, open, close, list, depth, value) {
  const lines = list && out.length > 6 && c.compact ? rare().rows(c, out) : out;
  if (lines === out && c.level - depth < c.compact) {
    let total = 2 * out.length + c.indent + open.length + 10;
    for (let i = 0; i < out.length; i++) total += out[i].length;
    const line = total > c.breakLength ? '\n' : `${open} ${out.join(', ')} ${close}`;
    if (!line.includes('\n')) return line;
  }
  const line = `\n${' '.repeat(c.indent)}`;
  return `${open}${line}  ${lines.join(`,${line}  `)}${line}${close}`;
}

module.exports = { inspect, any, array, prefix, indented };
