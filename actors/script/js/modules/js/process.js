const EventEmitter = require('events');
const { argv, env, root, version, pid } = binding;

function process() {}
Object.setPrototypeOf(process.prototype, EventEmitter.prototype);
Object.defineProperty(process.prototype, 'constructor', { value: process, writable: true, configurable: true });
const p = new process();
EventEmitter.call(p);

function unsupported(what) {
  return () => {
    const e = new Error(`process.${what} is not available in the embedded engine; to run the script in Node.js, set "troupe": {"engine": "node"} in package.json`);
    e.code = 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM';
    throw e;
  };
}

function hrtime(previous) {
  const t = binding.hrtime();
  if (previous === undefined) return t;
  if (!Array.isArray(previous) || previous.length !== 2) {
    const e = new TypeError('The "time" argument must be an instance of Array.');
    e.code = 'ERR_INVALID_ARG_TYPE';
    throw e;
  }
  let s = t[0] - previous[0], n = t[1] - previous[1];
  if (n < 0) {
    s--;
    n += 1e9;
  }
  return [s, n];
}
hrtime.bigint = () => binding.nanoseconds();

function memoryUsage() {
  const n = binding.memory();
  return { rss: n, heapTotal: n, heapUsed: n, external: 0, arrayBuffers: 0 };
}
memoryUsage.rss = () => binding.memory();

let exiting = false;

Object.assign(p, {
  version,
  versions: { node: version.slice(1), v8: '0.0.0', uv: '0.0.0', modules: '0' },
  arch: 'x64', platform: 'linux',
  release: { name: 'node' },
  moduleLoadList: [],
  argv, execArgv: [], env, pid, ppid: 0, execPath: argv[0], argv0: 'node', title: 'node', exitCode: undefined,
  mainModule: binding.mainModule, features: {}, config: { target_defaults: {}, variables: {} },
  exit(code) {
    if (code !== undefined && code !== null) p.exitCode = code;
    if (!exiting) {
      exiting = true;
      p.emit('exit', Number(p.exitCode) || 0);
    }
    binding.exit(Number(p.exitCode) || 0);
  },
  reallyExit: (code) => binding.exit(Number(code) || 0),
  abort: () => binding.exit(134),
  kill(target, signal) {
    if (target !== pid) unsupported('kill of another process')();
    if (signal === 0) return true;
    binding.exit(143);
    return true;
  },
  nextTick(f, ...args) {
    if (typeof f !== 'function') {
      const e = new TypeError(`The "callback" argument must be of type function. Received ${f}`);
      e.code = 'ERR_INVALID_ARG_TYPE';
      throw e;
    }
    const job = args.length === 0 ? f : () => Reflect.apply(f, undefined, args);
    if (binding.hasNextTick) binding.nextTick(job);
    else Promise.resolve().then(job).catch(binding.uncaught);
  },
  hrtime, memoryUsage,
  uptime: () => binding.uptime(),
  cwd: () => root,
  chdir: unsupported('chdir'),
  umask: () => 0o22,
  cpuUsage: () => ({ user: 0, system: 0 }),
  resourceUsage: () => ({ userCPUTime: 0, systemCPUTime: 0, maxRSS: 0 }),
  getuid: () => 1000, geteuid: () => 1000, getgid: () => 1000, getegid: () => 1000, getgroups: () => [1000],
  emitWarning(warning, type = 'Warning', code) {
    if (type !== null && typeof type === 'object') ({ type = 'Warning', code } = type);
    const w = warning instanceof Error ? warning : Object.assign(new Error(warning), { name: typeof type === 'string' ? type : 'Warning' });
    if (typeof code === 'string') w.code = code;
    require('console').warn(`(node:${pid}) ${w.code ? `[${w.code}] ` : ''}${w.name}: ${w.message}`);
    p.emit('warning', w);
  },
  binding: unsupported('binding'), dlopen: unsupported('dlopen'),
  setUncaughtExceptionCaptureCallback: unsupported('setUncaughtExceptionCaptureCallback'),
  hasUncaughtExceptionCaptureCallback: () => false,
  stdout: stream('info'), stderr: stream('error'),
  stdin: Object.assign(new EventEmitter(), { isTTY: false, setEncoding() { return this; }, resume() { return this; }, pause() { return this; } }),
});
Object.defineProperty(p, Symbol.toStringTag, { value: 'process', configurable: true });

// stream writes to the log; not by console, which a script may have write here.
function stream(level) {
  return Object.assign(new EventEmitter(), {
    isTTY: false, writable: true, columns: 80,
    write(chunk, encoding, done) {
      binding.write(level, typeof chunk === 'string' ? chunk : require('buffer').Buffer.from(chunk).toString());
      if (typeof encoding === 'function') done = encoding;
      if (typeof done === 'function') p.nextTick(done);
      return true;
    },
    end(chunk) { if (chunk !== undefined) this.write(chunk); },
  });
}

module.exports = p;
