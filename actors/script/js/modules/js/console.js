// Plain text is formatted without loading the inspect module.
const { log, format } = binding;

const counts = Object.create(null), timers = Object.create(null);
let indent = '';

const print = (level, text) => {
  if (indent !== '') text = indent + text.replaceAll('\n', '\n' + indent);
  log(level, text);
};
const at = (level) => (...args) => print(level, format(...args));
const info = at('info'), warn = at('warn'), error = at('error');

const elapsed = (label, ...args) => {
  label = `${label}`;
  if (timers[label] === undefined) warn(`Warning: No such label '${label}' for console.time()`);
  else info(`${label}: ${Number((binding.now() - timers[label]).toFixed(3))}ms`, ...args);
};

const console = {
  log: info, info, warn, error, debug: at('debug'), dirxml: info, table: (data) => info(data),
  trace: (...args) => print('error', `Trace${args.length ? ': ' + format(...args) : ''}${binding.stack(new Error('').stack.slice(5))}`),
  dir: (v, options) => print('info', require('inspect').inspect(v, { customInspect: false, ...options })),
  assert: (ok, ...args) => {
    if (ok) return;
    if (typeof args[0] === 'string') args[0] = `Assertion failed: ${args[0]}`;
    else args.unshift(args.length ? 'Assertion failed:' : 'Assertion failed');
    warn(...args);
  },
  count: (label = 'default') => {
    counts[label] = (counts[label] || 0) + 1;
    info(`${label}: ${counts[label]}`);
  },
  countReset: (label = 'default') => { delete counts[label]; },
  group: (...args) => {
    if (args.length > 0) info(...args);
    if (indent.length < 200) indent += '  ';
  },
  groupEnd: () => { indent = indent.slice(2); },
  time: (label = 'default') => { timers[label] = binding.now(); },
  timeLog: (label = 'default', ...args) => elapsed(label, ...args),
  timeEnd: (label = 'default') => {
    elapsed(label);
    delete timers[label];
  },
};
console.groupCollapsed = console.group;
console.Console = function Console() { return console; };
module.exports = console;
