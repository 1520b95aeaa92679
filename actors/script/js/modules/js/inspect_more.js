// What inspect.js needs for rarer values; apart, because each function takes 0.7 KiB of a runtime.
const { any, layout, prefix, hasOwn, extra } = require('inspect');

function number(n, c) {
  if (Object.is(n, -0)) return '-0';
  if (!c || !c.numericSeparator) return `${n}`;
  const [whole, ...rest] = `${n}`.split('.');
  return [whole.replace(/\B(?=(\d{3})+$)/g, '_'), ...rest.map((r) => r.replace(/(\d{3})(?=\d)/g, '$1_'))].join('.');
}

const more = (n) => `... ${n} more item${n > 1 ? 's' : ''}`;

function showProxy(c, proxy, depth) {
  if (depth > c.depth && c.depth !== null) return 'Proxy [Array]';
  c.indent += 2;
  const parts = [any(c, proxy[0], depth + 1), any(c, proxy[1], depth + 1)];
  c.indent -= 2;
  return layout(c, parts, '', ['Proxy [', ']'], extra, depth);
}

// lines keeps the ends of lines.
function lines(s) {
  const out = s.split('\n').map((l) => l + '\n');
  const last = out.pop().slice(0, -1);
  if (last !== '') out.push(last);
  return out;
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
    const kind = own[binding.toStringTag];
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

// betterName has a stack begin with the class of its error, as Node.js shows it: in place of the
// name that it begins with if the class's says that too, else before it. Errors without a
// constructor begin with whatever looks like a name.
function betterName(stack, e, constructor, tag) {
  const name = e.name == null ? 'Error' : String(e.name);
  const said = constructor === null ? nameIn(stack) : name;
  if (constructor !== null && !(/Error$/.test(name) && stack.startsWith(name) && /^$|^[:\n]/.test(stack.slice(name.length)))) return stack;
  const full = prefix(constructor, tag, said || 'Error').slice(0, -1), rest = stack.slice(said.length);
  if (full === name) return stack;
  if (!full.includes(name)) return `${full} [${name}]${rest}`;
  return said === '' ? `${full}: ${rest}` : full + rest;
}

function nameIn(stack) {
  const end = stack.search(/:|\n {4}at/);
  const word = end < 0 ? stack : stack.slice(0, end);
  return (end < 0 ? /^[\w-]*Error$/ : /^[A-Z][\w ()[\]-]+$/).test(word) ? word : '';
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

// iterator shows what one of a Set or Map has still to give.
function iterator(c, value, depth) {
  const max = Math.max(0, c.maxArrayLength);
  const [pairs, count, list] = binding.left(value, max);
  const out = [];
  c.indent += 2;
  for (let i = 0; i < list.length; i += 2) {
    if (pairs) out.push(layout(c, [any(c, list[i], depth), any(c, list[i + 1], depth)], '', ['[', ']'], extra, depth));
    else out.push(any(c, list[i], depth));
  }
  c.indent -= 2;
  if (count > max) out.push(more(count - max));
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

module.exports = { showProxy, number, lines, sizeOf, more, width, stackOf, functionBase, errorBase, typedArray, set, map, iterator, arrayBuffer, promise, columns };
