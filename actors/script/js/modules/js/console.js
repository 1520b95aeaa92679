// Plain text is formatted without loading the inspect module.
const { log, format } = binding;
const inspect = (v, options) => require('inspect').inspect(v, options);

const counts = Object.create(null), timers = Object.create(null);
let indent = '';

const print = (level, text) => {
  if (indent !== '') text = indent + text.replaceAll('\n', '\n' + indent);
  log(level, text);
};
const at = (level) => (...args) => print(level, format(...args));
const info = at('info'), warn = at('warn'), error = at('error'), debug = at('debug');

function span(ms) {
  if (ms >= 1000) {
    const s = ms / 1000;
    if (s >= 3600) return `${Math.floor(s / 3600)}:${String(Math.floor(s / 60) % 60).padStart(2, '0')}:${String(Math.floor(s) % 60).padStart(2, '0')} (h:mm:ss)`;
    if (s >= 60) return `${Math.floor(s / 60)}:${(s % 60).toFixed(3).padStart(6, '0')} (m:ss.mmm)`;
    return `${s.toFixed(3)}s`;
  }
  return `${Number(ms.toFixed(3))}ms`;
}

function elapsed(label, name) {
  const t = timers[label];
  if (t === undefined) {
    warn(`Warning: No such label '${label}' for console.${name}()`);
    return undefined;
  }
  return span(binding.now() - t);
}

function rows(head, columns) {
  const { width } = require('inspect_more');
  const lines = columns[0].map((_, i) => columns.map((c) => c[i]));
  const widths = head.map((h, i) => Math.max(width(h), ...columns[i].map(width)) + 2);
  const line = (cells) => `│${cells.map((c, i) => ` ${c}${' '.repeat(widths[i] - width(c) - 1)}`).join('│')}│`;
  const rule = (l, m, r) => l + widths.map((w) => '─'.repeat(w)).join(m) + r;
  return [rule('┌', '┬', '┐'), line(head), rule('├', '┼', '┤'), ...lines.map(line), rule('└', '┴', '┘')].join('\n');
}

const cell = (v) => inspect(v, { maxArrayLength: 3, breakLength: Infinity, depth: v !== null && typeof v === 'object' && !Array.isArray(v) && Object.keys(v).length > 2 ? -1 : 0 });

function table(data, only) {
  if (data === null || typeof data !== 'object') return info(data);
  const entries = data instanceof Map ? [...data].map(([k, v], i) => [i, v, k]) : data instanceof Set ? [...data].map((v, i) => [i, v]) : Object.keys(data).map((k) => [k, data[k]]);
  const isMap = data instanceof Map, counted = isMap || data instanceof Set;
  const columns = new Map(), values = [];
  let single = false;
  entries.forEach(([, v], i) => {
    if (v === null || typeof v !== 'object' && typeof v !== 'function' || isMap) {
      single = true;
      values[i] = cell(v);
      return;
    }
    for (const key of only || Object.keys(v)) {
      if (!columns.has(key)) columns.set(key, []);
      if (Object.prototype.hasOwnProperty.call(v, key)) columns.get(key)[i] = cell(v[key]);
    }
  });
  const fill = (c) => Array.from({ length: entries.length }, (_, i) => c[i] === undefined ? '' : c[i]);
  const head = [counted ? '(iteration index)' : '(index)'], body = [entries.map(([k]) => String(k))];
  if (isMap) {
    head.push('Key');
    body.push(entries.map((e) => cell(e[2])));
  }
  for (const [key, c] of columns) {
    head.push(key);
    body.push(fill(c));
  }
  if (single) {
    head.push('Values');
    body.push(fill(values));
  }
  return print('info', rows(head, body));
}

const console = {
  log: info, info, warn, error, debug,
  trace: (...args) => print('error', `Trace${args.length ? ': ' + format(...args) : ''}${require('inspect_more').stackOf(new Error('').stack.slice(5))}`),
  dir: (v, options) => print('info', inspect(v, { customInspect: false, ...options })),
  dirxml: info, table,
  assert: (ok, ...args) => {
    if (ok) return;
    if (typeof args[0] === 'string') args[0] = `Assertion failed: ${args[0]}`;
    else args.unshift(args.length ? 'Assertion failed:' : 'Assertion failed');
    warn(...args);
  },
  count: (label = 'default') => {
    label = `${label}`;
    counts[label] = (counts[label] || 0) + 1;
    info(`${label}: ${counts[label]}`);
  },
  countReset: (label = 'default') => { delete counts[`${label}`]; },
  group: (...args) => {
    if (args.length > 0) info(...args);
    if (indent.length < 200) indent += '  ';
  },
  groupEnd: () => { indent = indent.slice(2); },
  time: (label = 'default') => {
    label = `${label}`;
    if (label in timers) warn(`Warning: Label '${label}' already exists for console.time()`);
    else timers[label] = binding.now();
  },
  timeEnd: (label = 'default') => {
    label = `${label}`;
    const t = elapsed(label, 'timeEnd');
    if (t !== undefined) info(`${label}: ${t}`);
    delete timers[label];
  },
  timeLog: (label = 'default', ...args) => {
    label = `${label}`;
    const t = elapsed(label, 'timeLog');
    if (t !== undefined) info(`${label}: ${t}`, ...args);
  },
};
console.groupCollapsed = console.group;
console.Console = function Console() { return console; };
module.exports = console;
