// util.inspect of plain values, with the output of Node.js. A runtime pays 0.7 KiB for each
// function and for each method of the engine that is touched, and 5 for the first
// iterator: rarer values are in inspect_more.js, and loops count here.
const defaults = { depth: 2, customInspect: true, maxArrayLength: 100, maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false };
const hasOwn = (o, k) => Object.prototype.hasOwnProperty.call(o, k);
const isEnumerable = (o, k) => Object.prototype.propertyIsEnumerable.call(o, k);
const rare = () => require('inspect_more');
const own = 0, element = 1, extra = 2; // kinds of properties

function inspect(value, options, ...old) {
  const c = { ...inspect.defaultOptions, seen: [], indent: 0, level: 0, circular: undefined, user: undefined };
  if (typeof options === 'boolean') {
    if (old[0] !== undefined) c.depth = old[0];
  } else if (options !== null && typeof options === 'object') {
    const keys = Object.keys(defaults);
    for (let i = 0; i < keys.length; i++) if (hasOwn(options, keys[i])) c[keys[i]] = options[keys[i]];
    c.user = options;
  }
  if (c.depth === null) c.depth = Infinity;
  if (c.maxArrayLength === null) c.maxArrayLength = Infinity;
  if (c.maxStringLength === null) c.maxStringLength = Infinity;
  return any(c, value, 0);
}
inspect.custom = Symbol.for('nodejs.util.inspect.custom');
inspect.defaultOptions = defaults;

function primitive(c, v) {
  switch (typeof v) {
    case 'string': {
      if (v.length <= c.maxStringLength) return binding.quote(v);
      const n = v.length - c.maxStringLength;
      return `${binding.quote(v.slice(0, c.maxStringLength))}... ${n} more character${n > 1 ? 's' : ''}`;
    }
    case 'number': return v === 0 && 1 / v < 0 ? '-0' : `${v}`;
    case 'symbol': return v.toString();
    default: return `${v}`;
  }
}

function any(c, value, depth) {
  if (value === null || typeof value !== 'object' && typeof value !== 'function') return primitive(c, value);
  const context = value;
  for (let inner = binding.proxy(value); inner !== undefined; inner = binding.proxy(value)) {
    if (inner[0] === null) return '<Revoked Proxy>';
    value = inner[0];
  }
  const custom = c.customInspect ? value[inspect.custom] : undefined;
  if (typeof custom === 'function' && custom !== inspect && !(value.constructor && value.constructor.prototype === value)) {
    const options = { ...c.user, depth: c.depth - depth, stylize: (s) => `${s}` };
    for (const key of Object.keys(defaults)) if (key !== 'depth') options[key] = c[key];
    const got = custom.call(context, options.depth, options, inspect);
    if (got !== context) {
      const text = typeof got === 'object' ? any(c, got, depth) : `${got}`;
      return text.replaceAll('\n', `\n${' '.repeat(c.indent)}`);
    }
  }
  if (!c.seen.includes(value)) return object(c, value, depth);
  if (c.circular === undefined) c.circular = new Map();
  if (!c.circular.has(value)) c.circular.set(value, c.circular.size + 1);
  return `[Circular *${c.circular.get(value)}]`;
}

// className is that of the first constructor in the chain of prototypes, or null.
function className(o) {
  while (o !== null && o !== undefined) {
    const d = Object.getOwnPropertyDescriptor(o, 'constructor');
    if (d !== undefined && typeof d.value === 'function' && d.value.name !== '') return `${d.value.name}`;
    o = Object.getPrototypeOf(o);
  }
  return null;
}

function prefix(name, tag, fallback, size = '') {
  if (name === null) return tag !== '' && fallback !== tag ? `[${fallback}${size}: null prototype] [${tag}] ` : `[${fallback}${size}: null prototype] `;
  return tag !== '' && name !== tag ? `${name}${size} [${tag}] ` : `${name}${size} `;
}

// kind names what a value is inside, whatever its prototype says.
function kind(v) {
  const k = binding.kind(v);
  if (k !== 'Object') return k;
  switch (v[binding.toStringTag]) {
    case 'WeakMap': return v instanceof WeakMap ? 'WeakMap' : k;
    case 'WeakSet': return v instanceof WeakSet ? 'WeakSet' : k;
    case 'DataView': return v instanceof DataView ? 'DataView' : k;
  }
  return k;
}

const isIndex = (k) => typeof k === 'string' && k.charCodeAt(0) <= 57 && String(k >>> 0) === k && k !== '4294967295';

function keysOf(v, list) {
  if (list && v.length > 10000 && ArrayBuffer.isView(v)) return [];
  let keys = Object.keys(v);
  if (list && keys.length !== 0) keys = isIndex(keys[keys.length - 1]) ? [] : keys.filter((k) => !isIndex(k)); // indexes come first
  const symbols = Object.getOwnPropertySymbols(v);
  for (let i = 0; i < symbols.length; i++) if (isEnumerable(v, symbols[i])) keys.push(symbols[i]);
  return keys;
}

function object(c, value, depth) {
  let k = kind(value);
  if (k === 'Object' && value instanceof Error) k = 'Error'; // of a class of old style
  const name = className(value), list = k === 'Array' || k === 'TypedArray';
  let tag = value[binding.toStringTag];
  if (typeof tag !== 'string' || tag !== '' && isEnumerable(value, binding.toStringTag)) tag = '';
  const keys = keysOf(value, list || k === 'String');
  let base = '', braces = ['{', '}'], type = own, parts;
  switch (k) {
    case 'Array':
      braces = [name !== 'Array' || tag !== '' ? `${prefix(name, tag, 'Array', `(${value.length})`)}[` : '[', ']'];
      if (value.length === 0 && keys.length === 0) return `${braces[0]}]`;
      type = extra;
      parts = array;
      break;
    case 'Object':
      if (name !== 'Object' || tag !== '') braces[0] = `${prefix(name, tag, 'Object')}{`;
      if (keys.length === 0) return `${braces[0]}}`;
      break;
    default: {
      const shape = rare().shape(c, value, k, name, tag, keys);
      if (typeof shape === 'string') return shape;
      ({ base = '', braces = braces, type = own, parts } = shape);
      if (base !== '' && keys.length === 0) return base;
    }
  }
  if (depth > c.depth) return `[${prefix(name, tag, list ? 'Array' : 'Object').slice(0, -1).replace(/^\[(.*)\]$/, '$1')}]`;
  // The engine ends scripts that call too deeply.
  if (depth > 250) return `[${name === null ? 'Object: null prototype' : name}: Inspection interrupted prematurely. Maximum call stack size exceeded.]`;
  depth++;
  c.seen.push(value);
  c.level = depth;
  const out = parts === undefined ? [] : parts(c, value, depth);
  if (c.sorted) keys.sort((a, b) => String(a) < String(b) ? -1 : 1);
  for (let i = 0; i < keys.length; i++) out[out.length] = property(c, value, depth, keys[i], type);
  c.seen.pop();
  if (c.circular !== undefined) {
    const n = c.circular.get(value);
    if (n !== undefined) base = base === '' ? `<ref *${n}>` : `<ref *${n}> ${base}`;
  }
  return layout(c, out, base, braces, type, depth, value);
}

function array(c, value, depth) {
  const out = [];
  const max = Math.min(Math.max(0, c.maxArrayLength), value.length);
  for (let i = 0; i < max; i++) {
    if (hasOwn(value, i)) out.push(property(c, value, depth, i, element));
    else if (out[out.length - 1] !== '<empty items>') out.push('<empty items>');
  }
  if (max < value.length) out.push(rare().more(value.length - max));
  return out;
}

function property(c, value, depth, key, type) {
  const d = Object.getOwnPropertyDescriptor(value, key) || { value: value[key], enumerable: true };
  let s;
  if (d.get !== undefined || d.set !== undefined) s = d.get === undefined ? '[Setter]' : d.set === undefined ? '[Getter]' : '[Getter/Setter]';
  else {
    c.indent += 2;
    s = any(c, d.value, depth);
    c.indent -= 2;
  }
  if (type === element) return s;
  if (typeof key === 'symbol') return `[${key.toString()}]: ${s}`;
  return `${d.enumerable === false ? `[${key}]` : key === '__proto__' ? "['__proto__']" : binding.label(key)}: ${s}`;
}

// layout puts parts on one line if they are few and short, else on a line each.
function layout(c, out, base, braces, type, depth, value) {
  const before = base === '' ? '' : `${base} `;
  if (c.compact) {
    const entries = out.length;
    if (type === extra && entries > 6) out = rare().columns(c, out, value);
    if (c.level - depth < c.compact && entries === out.length) {
      let total = 2 * out.length + c.indent + braces[0].length + base.length + 10;
      for (let i = 0; i < out.length; i++) total += out[i].length;
      const joined = total > c.breakLength || base.includes('\n') ? '\n' : out.join(', ');
      if (!joined.includes('\n')) return `${before}${braces[0]} ${joined} ${braces[1]}`;
    }
  }
  const line = `\n${' '.repeat(c.indent)}`;
  return `${before}${braces[0]}${line}  ${out.join(`,${line}  `)}${line}${braces[1]}`;
}

module.exports = {
  inspect, kind, any, prefix, hasOwn, extra,
  isProxy: (v) => v !== null && (typeof v === 'object' || typeof v === 'function') && binding.proxy(v) !== undefined,
};
