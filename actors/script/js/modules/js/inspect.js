// util.inspect and util.format with the output of Node.js 20, without colours.
const custom = Symbol.for('nodejs.util.inspect.custom');
const defaults = {
  showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100,
  maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false,
};
const hasOwn = (o, k) => Object.prototype.hasOwnProperty.call(o, k);
const isEnumerable = (o, k) => Object.prototype.propertyIsEnumerable.call(o, k);
// Prototypes of the engine are costly, so nothing here touches one before it must.
const typedName = (v) => binding.typedName(v);
const own = 0, element = 1, extra = 2; // kinds of properties

function inspect(value, options, ...old) {
  const c = { ...inspect.defaultOptions, seen: [], indent: 0, level: 0, circular: undefined, user: undefined };
  if (typeof options === 'boolean') {
    c.showHidden = options;
    if (old[0] !== undefined) c.depth = old[0];
  } else if (options !== null && typeof options === 'object') {
    for (const key of Object.keys(options)) {
      if (hasOwn(defaults, key) || key === 'stylize') c[key] = options[key];
    }
    c.user = options;
  }
  if (c.maxArrayLength === null) c.maxArrayLength = Infinity;
  if (c.maxStringLength === null) c.maxStringLength = Infinity;
  return any(c, value, 0);
}
inspect.custom = custom;
inspect.defaultOptions = defaults;
inspect.colors = Object.create(null);
inspect.styles = Object.create(null);

const quoted = binding.quote;

function number(n, c) {
  if (Object.is(n, -0)) return '-0';
  if (!c || !c.numericSeparator) return `${n}`;
  const [whole, ...rest] = `${n}`.split('.');
  return [whole.replace(/\B(?=(\d{3})+$)/g, '_'), ...rest.map((r) => r.replace(/(\d{3})(?=\d)/g, '$1_'))].join('.');
}

// lines keeps the ends of lines.
function lines(s) {
  const out = s.split('\n').map((l) => l + '\n');
  const last = out.pop().slice(0, -1);
  if (last !== '') out.push(last);
  return out;
}

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
        return lines(v).map(quoted).join(` +\n${' '.repeat(c.indent + 2)}`) + more;
      }
      return quoted(v) + more;
    }
    case 'number': return number(v, c);
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
    if (c.showProxy) return showProxy(c, proxy, depth);
    while (true) {
      const inner = binding.proxy(value);
      if (inner === undefined) break;
      if (inner[0] === null) return '<Revoked Proxy>';
      value = inner[0];
    }
  }
  if (c.customInspect) {
    const f = value[custom];
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

function showProxy(c, proxy, depth) {
  if (depth > c.depth && c.depth !== null) return 'Proxy [Array]';
  c.indent += 2;
  const parts = [any(c, proxy[0], depth + 1), any(c, proxy[1], depth + 1)];
  c.indent -= 2;
  return layout(c, parts, '', ['Proxy [', ']'], extra, depth);
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
  const tag = v[Symbol.toStringTag];
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
  for (const s of symbols) if (isEnumerable(v, s)) keys.push(s);
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
  const k = kind(value);
  const name = constructorName(value, c);
  let tag = value[Symbol.toStringTag];
  if (typeof tag !== 'string' || tag !== '' && (c.showHidden ? hasOwn : isEnumerable)(value, Symbol.toStringTag)) tag = '';
  let base = '', braces = ['{', '}'], keys, type = own, parts = () => [];
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
      const size = sizeOf(value, k);
      const p = prefix(name, tag, k, `(${size})`);
      if (size === 0 && keys.length === 0) return `${p}{}`;
      braces = [`${p}{`, '}'];
      parts = k === 'Set' ? set : map;
      break;
    }
    case 'TypedArray': {
      keys = otherKeys(value, c.showHidden);
      braces = [`${prefix(name, tag, typedName(value), `(${value.length})`)}[`, ']'];
      if (value.length === 0 && keys.length === 0 && !c.showHidden) return `${braces[0]}]`;
      type = extra;
      parts = typedArray;
      break;
    }
    case 'Map Iterator': case 'Set Iterator':
      keys = keysOf(value, c.showHidden);
      braces = [`[${tag}] {`, '}'];
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
          base = functionBase(value, name, tag);
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
          base = errorBase(c, value, name, tag, keys);
          if (keys.length === 0) return base;
          break;
        case 'ArrayBuffer':
          if (typed === undefined) parts = arrayBuffer;
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
          parts = promise;
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
  const out = parts(c, value, depth);
  for (const key of keys) out.push(property(c, value, depth, key, type));
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

const sizeOf = (v, k) => Object.getOwnPropertyDescriptor(globalThis[k].prototype, 'size').get.call(v);

function functionBase(f, name, tag) {
  const source = Function.prototype.toString.call(f);
  if (source.startsWith('class') && source.endsWith('}')) {
    let base = `[class ${hasOwn(f, 'name') && f.name ? f.name : '(anonymous)'}`;
    if (name !== 'Function' && name !== null) base += ` [${name}]`;
    if (tag !== '' && name !== tag) base += ` [${tag}]`;
    if (name !== null) {
      const parent = Object.getPrototypeOf(f).name;
      if (parent) base += ` extends ${parent}`;
    } else base += ' extends [null prototype]';
    return base + ']';
  }
  let type = 'Function';
  const own = Object.getPrototypeOf(f);
  if (own !== null && own !== Function.prototype) {
    const kind = own[Symbol.toStringTag];
    if (kind === 'AsyncFunction' || kind === 'GeneratorFunction') type = kind;
  }
  // The engine gives asynchronous methods the prototype of plain functions.
  if (type === 'Function' && name === type && (source.startsWith('async ') || source.startsWith('async('))) type = name = 'AsyncFunction';
  let base = `[${type}`;
  if (name === null) base += ' (null prototype)';
  base += f.name === '' || typeof f.name !== 'string' ? ' (anonymous)' : `: ${f.name}`;
  base += ']';
  if (name !== type && name !== null) base += ` ${name}`;
  if (tag !== '' && name !== tag) base += ` [${tag}]`;
  return base;
}

// stackOf returns a stack in the form of Node.js.
const stackOf = binding.stack;

function errorBase(c, e, name, tag, keys) {
  let stack = stackOf(e.stack ? String(e.stack) : Error.prototype.toString.call(e));
  if (!c.showHidden && keys.length !== 0) {
    for (const key of ['name', 'message', 'stack']) {
      const i = keys.indexOf(key);
      if (i >= 0 && (typeof e[key] !== 'string' || stack.includes(key === 'stack' ? stackOf(e[key]) : e[key]))) keys.splice(i, 1);
    }
  }
  if ('cause' in e && (keys.length === 0 || !keys.includes('cause')) && hasOwn(e, 'cause')) keys.push('cause');
  if (Array.isArray(e.errors) && hasOwn(e, 'errors') && !keys.includes('errors')) keys.push('errors');
  stack = betterName(stack, e, name, tag);
  const at = (e.message && stack.indexOf(e.message)) || -1;
  const from = stack.indexOf('\n    at', at === -1 ? 0 : at + String(e.message).length);
  if (from === -1) stack = `[${stack}]`;
  if (c.indent !== 0) stack = stack.replaceAll('\n', `\n${' '.repeat(c.indent)}`);
  return stack;
}

function betterName(stack, e, name, tag) {
  let wanted = name === null ? e.name != null ? String(e.name) : 'Error' : name;
  if (typeof wanted !== 'string') return stack;
  if (name === null || wanted.endsWith('Error') && stack.startsWith(wanted) && (stack.length === wanted.length || stack[wanted.length] === ':' || stack[wanted.length] === '\n')) {
    if (name === null) {
      const start = /^([A-Z][a-z_ A-Z0-9[\]()-]+)(?::|\n\s+at)/.exec(stack) || /^([a-z_A-Z0-9-]*Error)$/.exec(stack);
      const had = (start && start[1]) || '';
      const clean = prefix(null, tag, 'Error').slice(0, -1);
      return clean + (had ? stack.slice(had.length) : `: ${stack}`);
    }
    return stack;
  }
  if (wanted !== 'Error' && !stack.includes(wanted)) {
    const start = /^([A-Z][a-z_ A-Z0-9[\]()-]+)(?::|\n\s+at)/.exec(stack) || /^([a-z_A-Z0-9-]*Error)$/.exec(stack);
    const had = (start && start[1]) || '';
    if (had === '') return stack.startsWith(':') || stack === '' ? wanted + stack : stack;
    if (wanted.includes(had) || had === 'Error') return wanted + stack.slice(had.length);
  }
  return stack;
}

const more = (n) => `... ${n} more item${n > 1 ? 's' : ''}`;

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
  if (left > 0) out.push(more(left));
  return out;
}

function typedArray(c, value, depth) {
  const max = Math.min(Math.max(0, c.maxArrayLength), value.length);
  const out = [];
  for (let i = 0; i < max; i++) out.push(typeof value[i] === 'bigint' ? `${value[i]}n` : number(value[i], c));
  if (value.length > max) out.push(more(value.length - max));
  if (c.showHidden) {
    c.indent += 2;
    for (const key of ['BYTES_PER_ELEMENT', 'length', 'byteLength', 'byteOffset', 'buffer']) out.push(`[${key}]: ${any(c, value[key], depth, true)}`);
    c.indent -= 2;
  }
  return out;
}

function set(c, value, depth) {
  const out = [];
  c.indent += 2;
  const max = Math.max(0, c.maxArrayLength);
  for (const v of Set.prototype.values.call(value)) {
    if (out.length >= max) {
      out.push(more(sizeOf(value, 'Set') - max));
      break;
    }
    out.push(any(c, v, depth));
  }
  c.indent -= 2;
  return out;
}

function map(c, value, depth) {
  const out = [];
  c.indent += 2;
  const max = Math.max(0, c.maxArrayLength);
  for (const [k, v] of Map.prototype.entries.call(value)) {
    if (out.length >= max) {
      out.push(more(sizeOf(value, 'Map') - max));
      break;
    }
    out.push(`${any(c, k, depth)} => ${any(c, v, depth)}`);
  }
  c.indent -= 2;
  return out;
}

function arrayBuffer(c, value) {
  const bytes = new Uint8Array(value);
  const max = Math.min(Math.max(0, c.maxArrayLength), bytes.length);
  let s = '';
  for (let i = 0; i < max; i++) s += (i ? ' ' : '') + bytes[i].toString(16).padStart(2, '0');
  const left = bytes.length - max;
  if (left > 0) s += ` ... ${left} more byte${left > 1 ? 's' : ''}`;
  return [`[Uint8Contents]: <${s}>`];
}

function promise(c, value, depth) {
  const [state, result] = binding.promise(value);
  if (state === 'pending') return ['<pending>'];
  c.indent += 2;
  const s = any(c, result, depth);
  c.indent -= 2;
  return [state === 'rejected' ? `<rejected> ${s}` : s];
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

// width returns columns on a terminal: wide characters count double.
const width = binding.width;

// columns puts many short elements into rows.
function columns(c, out, value) {
  let total = 0, longest = 0, n = out.length;
  if (c.maxArrayLength < out.length) n--;
  const lengths = [];
  for (let i = 0; i < n; i++) {
    lengths[i] = width(out[i]);
    total += lengths[i] + 2;
    longest = Math.max(longest, lengths[i]);
  }
  const widest = longest + 2;
  if (widest * 3 + c.indent >= c.breakLength || total / widest <= 5 && longest > 6) return out;
  const bias = Math.max(widest - 3 - Math.sqrt(widest - total / out.length), 1);
  const count = Math.min(Math.round(Math.sqrt(2.5 * bias * n) / bias), Math.floor((c.breakLength - c.indent) / widest), c.compact * 4, 15);
  if (count <= 1) return out;
  const widths = [];
  for (let i = 0; i < count; i++) {
    let max = 0;
    for (let j = i; j < n; j += count) max = Math.max(max, lengths[j]);
    widths.push(max + 2);
  }
  let pad = 'padStart';
  if (value !== undefined) {
    for (let i = 0; i < out.length; i++) {
      if (typeof value[i] !== 'number' && typeof value[i] !== 'bigint') {
        pad = 'padEnd';
        break;
      }
    }
  }
  const rows = [];
  for (let i = 0; i < n; i += count) {
    const end = Math.min(i + count, n);
    let row = '', j = i;
    for (; j < end - 1; j++) row += `${out[j]}, `[pad](widths[j - i] + out[j].length - lengths[j]);
    row += pad === 'padStart' ? out[j].padStart(widths[j - i] + out[j].length - lengths[j] - 2) : out[j];
    rows.push(row);
  }
  if (n < out.length) rows.push(out[n]);
  return rows;
}

function layout(c, out, base, braces, type, depth, value) {
  if (c.compact !== true) {
    if (typeof c.compact === 'number' && c.compact >= 1) {
      const entries = out.length;
      if (type === extra && entries > 6) out = columns(c, out, value);
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
  for (const s of out) {
    total += s.length;
    if (total > c.breakLength) return false;
  }
  return base === '' || !base.includes('\n');
}

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

module.exports = { inspect, format, formatWithOptions, custom, kind, stackOf, width, isProxy: (v) => v !== null && (typeof v === 'object' || typeof v === 'function') && binding.proxy(v) !== undefined };
