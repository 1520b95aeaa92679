// util.inspect with the output of Node.js 20, without colours. A runtime pays 0.7 KiB
// for each function and for each method of the engine that is touched, and 5 for the
// first iterator: rarer values are in inspect_more.js, and loops count here.
const defaults = {
  showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100,
  maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false,
};
const hasOwn = (o, k) => Object.prototype.hasOwnProperty.call(o, k);
const isEnumerable = (o, k) => Object.prototype.propertyIsEnumerable.call(o, k);
const rare = () => require('inspect_more');
const toStringTag = binding.toStringTag;
const own = 0, element = 1, extra = 2; // kinds of properties

function inspect(value, options, ...old) {
  const c = { ...inspect.defaultOptions, seen: [], indent: 0, level: 0, circular: undefined, user: undefined };
  if (typeof options === 'boolean') {
    c.showHidden = options;
    if (old[0] !== undefined) c.depth = old[0];
  } else if (options !== null && typeof options === 'object') {
    const keys = Object.keys(options);
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i];
      if (hasOwn(defaults, key) || key === 'stylize') c[key] = options[key];
    }
    c.user = options;
  }
  if (c.maxArrayLength === null) c.maxArrayLength = Infinity;
  if (c.maxStringLength === null) c.maxStringLength = Infinity;
  return any(c, value, 0);
}
inspect.custom = binding.custom; // undefined where no script can know of it
inspect.defaultOptions = defaults;
inspect.colors = { __proto__: null };
inspect.styles = { __proto__: null };


function primitive(c, v) {
  switch (typeof v) {
    case 'string': {
      let more = '';
      if (v.length > c.maxStringLength) {
        const n = v.length - c.maxStringLength;
        v = v.slice(0, c.maxStringLength);
        more = `... ${n} more character${n > 1 ? 's' : ''}`;
      }
      if (c.compact !== true && v.length > 16 && v.length > c.breakLength - c.indent - 4 && v.includes('\n')) {
        return rare().lines(v).map(binding.quote).join(` +\n${' '.repeat(c.indent + 2)}`) + more;
      }
      return binding.quote(v) + more;
    }
    case 'number': return v === 0 ? 1 / v < 0 ? '-0' : '0' : c.numericSeparator ? rare().number(v, c) : `${v}`;
    case 'bigint': return `${v}n`;
    case 'symbol': return v.toString();
    default: return `${v}`;
  }
}

function any(c, value, depth, typed) {
  if (value === null || typeof value !== 'object' && typeof value !== 'function') return primitive(c, value);
  const context = value;
  const proxy = binding.proxy(value);
  if (proxy !== undefined) {
    if (c.showProxy) return rare().showProxy(c, proxy, depth);
    while (true) {
      const inner = binding.proxy(value);
      if (inner === undefined) break;
      if (inner[0] === null) return '<Revoked Proxy>';
      value = inner[0];
    }
  }
  if (c.customInspect) {
    const f = binding.custom === undefined ? undefined : value[binding.custom];
    if (typeof f === 'function' && f !== inspect && !(value.constructor && value.constructor.prototype === value)) {
      const left = c.depth === null ? null : c.depth - depth;
      const options = { ...c.user };
      for (const key of Object.keys(defaults)) options[key] = c[key];
      options.stylize = (s) => `${s}`;
      const got = f.call(context, left, options, inspect);
      if (got !== context) {
        const text = typeof got === 'object' ? any(c, got, depth) : `${got}`;
        return text.replaceAll('\n', `\n${' '.repeat(c.indent)}`);
      }
    }
  }
  if (c.seen.includes(value)) {
    let index = 1;
    if (c.circular === undefined) c.circular = new Map([[value, 1]]);
    else {
      index = c.circular.get(value);
      if (index === undefined) c.circular.set(value, index = c.circular.size + 1);
    }
    return `[Circular *${index}]`;
  }
  return object(c, value, depth, typed);
}

function constructorName(o, c) {
  const first = o;
  let up;
  while (o !== null && o !== undefined) {
    const d = Object.getOwnPropertyDescriptor(o, 'constructor');
    if (d !== undefined && typeof d.value === 'function' && d.value.name !== '' && instance(first, d.value)) return `${d.value.name}`;
    o = Object.getPrototypeOf(o);
    if (up === undefined) up = o;
  }
  if (up === null || up === undefined) return null;
  // Its chain has a prototype, but none with a constructor.
  const name = kind(first) || 'Object';
  return `${name} <${inspect(up, { ...c.user, customInspect: false, depth: -1, showHidden: false })}>`;
}

function instance(o, f) {
  try { return o instanceof f; } catch { return false; }
}

function prefix(name, tag, fallback, size = '') {
  if (name === null) {
    if (tag !== '' && fallback !== tag) return `[${fallback}${size}: null prototype] [${tag}] `;
    return `[${fallback}${size}: null prototype] `;
  }
  if (tag !== '' && name !== tag) return `${name}${size} [${tag}] `;
  return `${name}${size} `;
}

// kind names what a value is inside, whatever its prototype says.
function kind(v) {
  const k = binding.kind(v);
  if (k !== 'Object') return k;
  const tag = v[toStringTag];
  switch (tag) {
    case 'WeakMap': return v instanceof WeakMap ? tag : 'Object';
    case 'WeakSet': return v instanceof WeakSet ? tag : 'Object';
    case 'Map Iterator': case 'Set Iterator': return typeof v.next === 'function' && !hasOwn(v, 'next') ? tag : 'Object';
    case 'DataView': return v instanceof DataView ? tag : 'Object';
  }
  return k;
}

function keysOf(v, showHidden) {
  const symbols = Object.getOwnPropertySymbols(v);
  if (showHidden) return symbols.length ? [...Object.getOwnPropertyNames(v), ...symbols] : Object.getOwnPropertyNames(v);
  const keys = Object.keys(v);
  for (let i = 0; i < symbols.length; i++) if (isEnumerable(v, symbols[i])) keys.push(symbols[i]);
  return keys;
}

const isIndex = (k) => typeof k === 'string' && k.charCodeAt(0) <= 57 && String(k >>> 0) === k && k !== '4294967295';

// otherKeys are the keys that are no indexes; indexes come first among all.
function otherKeys(v, showHidden) {
  if (v.length > 10000 && ArrayBuffer.isView(v)) return [];
  const keys = keysOf(v, showHidden);
  if (keys.length === 0 || isIndex(keys[keys.length - 1])) return [];
  return keys.filter((k) => !isIndex(k));
}

function object(c, value, depth, typed) {
  let k = kind(value);
  if (k === 'Object' && value instanceof Error) k = 'Error'; // of a class of old style
  const name = constructorName(value, c);
  let tag = value[toStringTag];
  if (typeof tag !== 'string' || tag !== '' && (c.showHidden ? hasOwn : isEnumerable)(value, toStringTag)) tag = '';
  let base = '', braces = ['{', '}'], keys, type = own, parts;
  switch (k) {
    case 'Array': {
      keys = otherKeys(value, c.showHidden);
      const p = name !== 'Array' || tag !== '' ? prefix(name, tag, 'Array', `(${value.length})`) : '';
      braces = [`${p}[`, ']'];
      if (value.length === 0 && keys.length === 0) return `${braces[0]}]`;
      type = extra;
      parts = array;
      break;
    }
    case 'Set': case 'Map': {
      keys = keysOf(value, c.showHidden);
      const size = rare().sizeOf(value, k);
      const p = prefix(name, tag, k, `(${size})`);
      if (size === 0 && keys.length === 0) return `${p}{}`;
      braces = [`${p}{`, '}'];
      parts = k === 'Set' ? rare().set : rare().map;
      break;
    }
    case 'TypedArray': {
      keys = otherKeys(value, c.showHidden);
      braces = [`${prefix(name, tag, binding.typedName(value), `(${value.length})`)}[`, ']'];
      if (value.length === 0 && keys.length === 0 && !c.showHidden) return `${braces[0]}]`;
      type = extra;
      parts = rare().typedArray;
      break;
    }
    case 'Map Iterator': case 'Set Iterator':
      keys = keysOf(value, c.showHidden);
      braces = [`[${binding.left(value, 0)[0] ? tag.replace(/Iterator$/, 'Entries') : tag}] {`, '}'];
      parts = rare().iterator;
      break;
    default: {
      keys = keysOf(value, c.showHidden);
      const p = prefix(name, tag, 'Object');
      switch (k) {
        case 'Arguments':
          braces[0] = '[Arguments] {';
          if (keys.length === 0) return '[Arguments] {}';
          break;
        case 'Function':
          base = rare().functionBase(value, name, tag);
          if (keys.length === 0) return base;
          break;
        case 'RegExp': {
          base = RegExp.prototype.toString.call(value);
          const p = prefix(name, tag, 'RegExp');
          if (p !== 'RegExp ') base = `${p}${base}`;
          if (keys.length === 0) return base;
          break;
        }
        case 'Date': {
          base = Number.isNaN(Date.prototype.getTime.call(value)) ? 'Invalid Date' : Date.prototype.toISOString.call(value);
          const p = prefix(name, tag, 'Date');
          if (p !== 'Date ') base = `${p}${base}`;
          if (keys.length === 0) return base;
          break;
        }
        case 'Error':
          base = rare().errorBase(c, value, name, tag, keys);
          if (keys.length === 0) return base;
          break;
        case 'ArrayBuffer':
          if (typed === undefined) parts = rare().arrayBuffer;
          else if (keys.length === 0) return `${prefix(name, tag, 'ArrayBuffer')}{ byteLength: ${value.byteLength} }`;
          braces[0] = `${prefix(name, tag, 'ArrayBuffer')}{`;
          keys.unshift('byteLength');
          break;
        case 'DataView':
          braces[0] = `${prefix(name, tag, 'DataView')}{`;
          keys.unshift('byteLength', 'byteOffset', 'buffer');
          break;
        case 'Promise':
          braces[0] = `${prefix(name, tag, 'Promise')}{`;
          parts = rare().promise;
          break;
        case 'WeakMap': case 'WeakSet':
          braces[0] = `${prefix(name, tag, k)}{`;
          parts = () => ['<items unknown>'];
          break;
        case 'Number': case 'String': case 'Boolean': case 'Symbol': case 'BigInt':
          if (k === 'String') keys = keys.filter((key) => !isIndex(key));
          base = `[${k}`;
          if (name !== k) base += name === null ? ' (null prototype)' : ` (${name})`;
          base += `: ${primitive({ ...c, compact: true }, globalThis[k].prototype.valueOf.call(value))}]`;
          if (tag !== '' && tag !== name) base += ` [${tag}]`;
          if (keys.length === 0) return base;
          break;
        default:
          if (keys.length === 0) {
            if (name === 'Object' && tag === '') return '{}';
            return `${p}{}`;
          }
          if (name !== 'Object' || tag !== '') braces[0] = `${p}{`;
      }
    }
  }
  if (depth > c.depth && c.depth !== null) {
    const fallback = k === 'Array' || k === 'TypedArray' ? 'Array' : 'Object';
    return `[${prefix(name, tag, fallback).slice(0, -1).replace(/^\[(.*)\]$/, '$1')}]`;
  }
  // The engine ends scripts that call too deeply.
  if (depth > 250) return `[${name === null ? 'Object: null prototype' : name}: Inspection interrupted prematurely. Maximum call stack size exceeded.]`;
  depth++;
  c.seen.push(value);
  c.level = depth;
  const out = parts === undefined ? [] : parts(c, value, depth);
  for (let i = 0; i < keys.length; i++) out[out.length] = property(c, value, depth, keys[i], type);
  c.seen.pop();
  if (c.circular !== undefined) {
    const n = c.circular.get(value);
    if (n !== undefined) {
      if (c.compact !== true) base = base === '' ? `<ref *${n}>` : `<ref *${n}> ${base}`;
      else braces[0] = `<ref *${n}> ${braces[0]}`;
    }
  }
  if (c.sorted) {
    const by = c.sorted === true ? undefined : c.sorted;
    if (type === own) out.sort(by);
    else if (keys.length > 1) out.splice(out.length - keys.length, keys.length, ...out.slice(out.length - keys.length).sort(by));
  }
  return layout(c, out, base, braces, type, depth, value);
}

function array(c, value, depth) {
  const out = [];
  const max = Math.min(Math.max(0, c.maxArrayLength), value.length);
  let i = 0;
  for (; i < value.length && out.length < max; i++) {
    if (hasOwn(value, i)) {
      out.push(property(c, value, depth, i, element));
      continue;
    }
    const from = i;
    const next = binding.nextIndex(value, i);
    i = next - 1;
    const n = next - from;
    out.push(`<${n} empty item${n > 1 ? 's' : ''}>`);
  }
  const left = value.length - i;
  if (left > 0) out.push(rare().more(left));
  return out;
}

function property(c, value, depth, key, type) {
  const d = Object.getOwnPropertyDescriptor(value, key) || { value: value[key], enumerable: true };
  let s;
  if (d.value !== undefined) {
    const by = c.compact !== true || type !== own ? 2 : 3;
    c.indent += by;
    s = any(c, d.value, depth);
    if (by === 3 && c.breakLength < s.length) s = `\n${' '.repeat(c.indent)}${s}`;
    c.indent -= by;
  } else if (d.get !== undefined) s = d.set !== undefined ? '[Getter/Setter]' : '[Getter]';
  else s = d.set !== undefined ? '[Setter]' : 'undefined';
  if (type === element) return s;
  let label;
  if (typeof key === 'symbol') label = `[${binding.escape(key.toString())}]`;
  else if (key === '__proto__') label = "['__proto__']";
  else if (d.enumerable === false) label = `[${key}]`;
  else label = binding.label(key);
  return s.charCodeAt(0) === 10 ? `${label}:${s}` : `${label}: ${s}`;
}

function layout(c, out, base, braces, type, depth, value) {
  if (c.compact !== true) {
    if (typeof c.compact === 'number' && c.compact >= 1) {
      const entries = out.length;
      if (type === extra && entries > 6) out = rare().columns(c, out, value);
      if (c.level - depth < c.compact && entries === out.length) {
        const start = out.length + c.indent + braces[0].length + base.length + 10;
        if (fits(c, out, start, base)) {
          const joined = out.join(', ');
          if (!joined.includes('\n')) return `${base ? `${base} ` : ''}${braces[0]} ${joined} ${braces[1]}`;
        }
      }
    }
    const line = `\n${' '.repeat(c.indent)}`;
    return `${base ? `${base} ` : ''}${braces[0]}${line}  ${out.join(`,${line}  `)}${line}${braces[1]}`;
  }
  if (fits(c, out, 0, base)) return `${braces[0]}${base ? ` ${base}` : ''} ${out.join(', ')} ${braces[1]}`;
  const line = `\n${' '.repeat(c.indent)}`;
  const first = base === '' && braces[0].length === 1 ? ' ' : `${base ? ` ${base}` : ''}\n${' '.repeat(c.indent)}  `;
  return `${braces[0]}${first}${out.join(`,${line}  `)} ${braces[1]}`;
}

function fits(c, out, start, base) {
  let total = out.length + start;
  if (total + out.length > c.breakLength) return false;
  for (let i = 0; i < out.length; i++) {
    total += out[i].length;
    if (total > c.breakLength) return false;
  }
  return base === '' || !base.includes('\n');
}

module.exports = {
  inspect, kind, any, layout, prefix, hasOwn, extra,
  isProxy: (v) => v !== null && (typeof v === 'object' || typeof v === 'function') && binding.proxy(v) !== undefined,
};
