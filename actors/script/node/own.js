'use strict';
// The process of one game session: its script has all of Node.

const path = require('path'), timers = require('timers'), url = require('url'), Module = require('module');
const adapt = load('adapt'), pipe = load('pipe');

const really = process.reallyExit;
let game = null, shim = null, importFile = null;

exports.begin = function begin(with_, importer) {
  shim = with_;
  importFile = importer;
  watchErrors();
};

exports.enter = function enter(entering) {
  game = entering;
  return { realtime: load('realtime'), JSON: JSON, Uint8Array: Uint8Array };
};

exports.load = function () {
  const { entry, args } = game.options;
  process.argv.splice(1, process.argv.length, entry, ...args);
  adapt.console(game, console);
  adaptStream('stdout', console.info);
  adaptStream('stderr', console.error);
  const made = adapt.timers(game, (f, self, args) => f.apply(self, args));
  ['setTimeout', 'setInterval', 'setImmediate'].forEach(name => {
    timers[name] = globalThis[name] = made[name];
    timers.promises[name] = made.promises[name];
  });
  adapt.all(game.options);
  let module;
  try {
    module = requireMain(entry);
  } catch (error) {
    if (error && (error.code === 'ERR_REQUIRE_ESM' || error.code === 'ERR_REQUIRE_ASYNC_MODULE')) {
      importFile(url.pathToFileURL(entry).href).then(module => {
        game.open(module);
        process.nextTick(() => game.init()); // when promise jobs have run
        setTask(() => game.loaded());
      }, error => game.notLoaded(error));
    } else {
      game.notLoaded(error);
    }
    return;
  }
  game.open(module);
};

const setTask = timers.setImmediate;

// leave ends the process.
exports.leave = function leave(leaving, code) {
  pipe.flush();
  really.call(process, code);
};

exports.ended = () => {};

// requireMain loads the entry as the main module; Module._load can do so too, but not
// tell what an ES module exports.
function requireMain(entry) {
  const load = Module.prototype.load;
  Module.prototype.load = function () {
    Module.prototype.load = load;
    process.mainModule = this;
    this.id = '.';
    this.parent = null;
    return load.apply(this, arguments);
  };
  return Module.createRequire(entry)(entry);
}

// others reports whether the script itself listens to an event that this file listens to.
function others(event) { return process.listenerCount(event) > 1; }

function watchErrors() {
  const listeners = {
    uncaughtException(error) {
      if (others('uncaughtException')) return;
      if (game) game.uncaught('Uncaught error', error);
      else fatal(error);
    },
    unhandledRejection(reason) {
      if (others('unhandledRejection')) return;
      if (!game) fatal(reason);
      else if (game.options.nodeVersion !== '10.x' && others('uncaughtException')) process.emit('uncaughtException', reason, 'unhandledRejection');
      else game.rejected(reason);
    },
    warning(warning) {
      if (game) game.glue.report(load('realtime').LEVELS.warn, 'Warning', warning);
    },
  };
  const add = () => Object.keys(listeners).forEach(event => {
    if (process.listeners(event).indexOf(listeners[event]) < 0) process.on(event, listeners[event]);
  });
  add();
  const removeAll = process.removeAllListeners;
  process.removeAllListeners = function removeAllListeners() {
    removeAll.apply(this, arguments);
    add(); // a script means its own
    return this;
  };
  process.reallyExit = function reallyExit(code) {
    if (game) game.exit(code);
    exports.leave(game, code);
  };
}

// fatal ends a process that has no game session yet: the error is of these files.
function fatal(error) {
  console.error(error);
  really.call(process, 1);
}

function adaptStream(name, print) {
  const made = Object.getOwnPropertyDescriptor(process, name).get;
  const write = adapt.lines(game, print, shim.LOG_MAX);
  Object.defineProperty(process, name, {
    get() {
      const stream = made.call(process);
      Object.defineProperty(process, name, { get: made });
      stream._writev = null;
      stream._write = write;
      return stream;
    },
    configurable: true,
  });
}
