'use strict';
// The process of many game sessions. Each has a context with its own globals, modules,
// timers, console and process. Node's own modules are the process's, and so are the
// compiled files: each is parsed once.
//
// Node attributes no error to a context. So whatever of the script this file sees called
// is called by guard; and an error that nobody caught belongs to the game session from
// whose context it comes, or else to all.

const fs = require('fs'), path = require('path'), stream = require('stream'), timers = require('timers'), url = require('url'), vm = require('vm');
const Module = require('module'), EventEmitter = require('events');
const adapt = load('adapt'), pipe = load('pipe');

// Classes of which both contexts' objects are instances: what Node returns and throws is of its own.
const BOTH = [
  'Object', 'Function', 'Array', 'Error', 'TypeError', 'RangeError', 'SyntaxError', 'Promise', 'ArrayBuffer', 'Uint8Array', 'Map', 'Set', 'Date', 'RegExp',
];
const WRAPPER = '(function (exports, require, module, __filename, __dirname) {';
const PACE_MS = 4;
const DEPTH_MAX = 32; // of a chain of prototypes that is followed

const EXIT = new Error('process.exit was called'); // ends the call of the script that has exited
const instanceOf = Function.prototype[Symbol.hasInstance];
const native = globalThis, owners = new WeakMap(); // a context's Object.prototype -> its game session
const scripts = new Map(), resolved = new Map(), mapped = [];
const toGlobal = new vm.Script('globalThis');
const inherited = Object.getOwnPropertyNames(native).filter(name => !vm.runInNewContext('Object.getOwnPropertyNames(globalThis)').includes(name));

const requireNative = require;

let games = null, shim = null, adapted = false;

exports.begin = function begin(with_) {
  shim = with_;
  games = shim.games;
  pipe.pace = PACE_MS;
  process.on('uncaughtException', error => blame(error, game => game.uncaught('Uncaught error', error)));
  process.on('unhandledRejection', (reason, promise) => {
    if (reason !== EXIT) blame(owner(promise) ? promise : reason, game => rejected(game, reason, promise));
  });
  process.reallyExit = function reallyExit(code) { // what a script has not called by its own process
    process.abort();
  };
};

function owner(value) {
  let root = value;
  for (let i = 0; i < DEPTH_MAX && root !== null && (typeof root === 'object' || typeof root === 'function'); i++) {
    const found = owners.get(root);
    if (found) return found;
    root = Object.getPrototypeOf(root);
  }
  return undefined;
}

// blame calls f with the game session that an error is from.
function blame(error, f) {
  if (error === EXIT) return;
  const game = owner(error);
  if (game) f(game);
  else Array.from(games.values()).forEach(f);
}

function rejected(game, reason, promise) {
  const p = game.process;
  if (p.emit('unhandledRejection', reason, promise)) return;
  if (game.options.nodeVersion !== '10.x' && p.emit('uncaughtException', reason, 'unhandledRejection')) return;
  game.rejected(reason);
}

// guard calls a function of a script.
function guard(game, f, self, args) {
  if (game.over) return undefined;
  try {
    return f.apply(self, args);
  } catch (error) {
    if (error !== EXIT && !game.process.emit('uncaughtException', error, 'uncaughtException')) game.uncaught('Uncaught error', error);
    return undefined;
  }
}

function guarded(game, f) {
  return typeof f === 'function' ? function () { return guard(game, f, this, arguments); } : f;
}

exports.enter = function enter(game) {
  if (!adapted) adapt.all(game.options);
  adapted = true;
  const context = vm.createContext(vm.constants && vm.constants.DONT_CONTEXTIFY || {});
  const global = game.global = toGlobal.runInContext(context);
  game.context = context;
  game.modules = new Map();
  owners.set(global.Object.prototype, game);
  for (const name of BOTH) {
    const own = global[name];
    Object.defineProperty(own, Symbol.hasInstance, {
      value(v) { return instanceOf.call(this, v) || this === own && instanceOf.call(native[name], v); }, configurable: true, writable: true,
    });
  }
  const define = (name, value) => Object.defineProperty(global, name, { value: value, configurable: true, writable: true, enumerable: name[0] !== name[0].toUpperCase() });
  for (const name of inherited) {
    Object.defineProperty(global, name, { get: () => native[name], set: value => { define(name, value); }, configurable: true, enumerable: false });
  }
  game.console = adapt.console(game, Object.create(console));
  game.process = makeProcess(game);
  game.timers = Object.create(timers, Object.getOwnPropertyDescriptors(adapt.timers(game, (f, self, args) => guard(game, f, self, args))));
  define('global', global);
  define('console', game.console);
  define('process', game.process);
  ['setTimeout', 'setInterval', 'setImmediate'].forEach(name => define(name, game.timers[name]));
  define('queueMicrotask', f => queueMicrotask(guarded(game, f)));
  const module = { exports: {} };
  load.script('realtime').runInContext(context)(module.exports, null, module);
  return { realtime: module.exports, JSON: global.JSON, Uint8Array: global.Uint8Array };
};

// makeProcess returns the process as a game session sees it: its own end, listeners,
// arguments, environment and output.
function makeProcess(game) {
  const own = Object.create(process);
  EventEmitter.call(own);
  own.argv = [process.argv[0], game.options.entry, ...game.options.args];
  own.env = Object.assign({}, process.env);
  own.exitCode = undefined;
  own.nextTick = (f, ...args) => process.nextTick(guarded(game, f), ...args);
  own.exit = own.reallyExit = code => {
    if (!game.over) {
      if (code !== undefined) own.exitCode = code;
      const last = Number(own.exitCode) | 0;
      guard(game, () => own.emit('exit', last), own, []);
      game.exit(last);
      game.end();
    }
    throw EXIT;
  };
  for (const [name, print] of [['stdout', 'info'], ['stderr', 'error']]) {
    const write = adapt.lines(game, line => game.console[print](line), shim.LOG_MAX);
    Object.defineProperty(own, name, {
      get() {
        const made = new stream.Writable({ decodeStrings: false, write: write });
        Object.defineProperty(own, name, { value: made });
        return made;
      },
      configurable: true,
    });
  }
  return own;
}

exports.load = function (game) {
  let module;
  try {
    module = requireMain(game);
  } catch (error) {
    if (error !== EXIT) game.notLoaded(error);
    return;
  }
  game.open(module);
};

function requireMain(game) {
  const main = game.main = game.process.mainModule = makeModule(game, game.options.entry, null);
  main.id = '.';
  main.require.main = main;
  return run(game, main);
}

exports.leave = function leave(game) { game.end(); };

exports.ended = function ended(game) {
  if (!game.timers) return; // it did not come into being
  for (const timer of game.timers.waiting) {
    timers.clearTimeout(timer);
    timers.clearImmediate(timer);
  }
};

// Modules. The files are those of CommonJS: the host has translated the others.

function makeModule(game, filename, parent) {
  const module = {
    id: filename, filename: filename, path: path.dirname(filename), exports: new game.global.Object(), loaded: false, children: [], parent: parent,
    paths: Module._nodeModulePaths(path.dirname(filename)), url: url.pathToFileURL(filename).href, // the host has made import.meta.url of it
  };
  module.require = makeRequire(game, module);
  return module;
}

function makeRequire(game, module) {
  const resolve = request => {
    const key = module.path + '\0' + request;
    let found = resolved.get(key);
    if (found === undefined) {
      found = Module._resolveFilename(request, module, false);
      if (typeof request === 'string') resolved.set(key, found);
    }
    return found;
  };
  const require = request => {
    const builtin = ownModule(game, String(request).replace(/^node:/, ''));
    if (builtin !== undefined) return builtin;
    const filename = resolve(request);
    if (!path.isAbsolute(filename)) return requireNative(filename);
    const known = game.modules.get(filename);
    if (known) return known.exports;
    return run(game, makeModule(game, filename, module));
  };
  require.resolve = resolve;
  require.main = game.main;
  require.extensions = Module._extensions;
  require.cache = new Proxy(Object.create(null), {
    get: (none, name) => game.modules.get(name), has: (none, name) => game.modules.has(name), deleteProperty: (none, name) => { game.modules.delete(name); return true; },
    ownKeys: () => Array.from(game.modules.keys()),
    getOwnPropertyDescriptor: (none, name) => game.modules.has(name) ? { value: game.modules.get(name), enumerable: true, configurable: true } : undefined,
  });
  return require;
}

// ownModule returns a module of Node that each game session has for itself.
function ownModule(game, name) {
  switch (name) {
    case 'process': return game.process;
    case 'console': return game.console;
    case 'timers': return game.timers;
    case 'timers/promises': return game.timers.promises;
    case 'module': return Object.assign(Object.create(Module), { createRequire: file => {
      const filename = String(file).startsWith('file:') ? url.fileURLToPath(file) : String(file);
      return makeRequire(game, makeModule(game, filename, null));
    } });
  }
  return undefined;
}

function run(game, module) {
  const filename = module.filename;
  game.modules.set(filename, module);
  try {
    if (filename.endsWith('.json')) {
      module.exports = game.global.JSON.parse(read(filename));
    } else if (filename.endsWith('.node')) {
      process.dlopen(module, filename);
    } else {
      compile(filename).runInContext(game.context).call(module.exports, module.exports, module.require, module, filename, module.path);
    }
  } catch (error) {
    game.modules.delete(filename);
    throw error;
  }
  module.loaded = true;
  return module.exports;
}

function read(filename) { return fs.readFileSync(filename, 'utf8').replace(/^\ufeff/, ''); }

function compile(filename) {
  let script = scripts.get(filename);
  if (!script) {
    const source = read(filename).replace(/^#!/, '//');
    script = new vm.Script(WRAPPER + source + '\n})', {
      filename: filename, columnOffset: -WRAPPER.length, importModuleDynamically: vm.constants && vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
    });
    if (script.sourceMapURL) { // Node keeps the maps of its own modules only
      const module = new Module(filename);
      module.filename = filename;
      module._compile('return;' + source, filename);
      mapped.push(module);
    }
    scripts.set(filename, script);
  }
  return script;
}
