const EventEmitter = require('events');
const { argv, env, root, version, pid } = binding;

function process() {}
Object.setPrototypeOf(process.prototype, EventEmitter.prototype);
Object.defineProperty(process.prototype, 'constructor', { value: process, writable: true, configurable: true });
const p = new process();
EventEmitter.call(p);

function hrtime(previous = [0, 0]) {
  const t = binding.hrtime(), n = (t[0] - previous[0]) * 1e9 + t[1] - previous[1];
  return [Math.floor(n / 1e9), n % 1e9];
}

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
  argv, execArgv: [], env, pid, ppid: 0, execPath: argv[0], argv0: 'node', title: 'node', exitCode: undefined,
  mainModule: binding.mainModule,
  exit(code) {
    if (code !== undefined && code !== null) p.exitCode = code;
    if (!exiting) {
      exiting = true;
      p.emit('exit', Number(p.exitCode) || 0);
    }
    binding.exit(Number(p.exitCode) || 0);
  },
  abort: () => binding.exit(134),
  nextTick(f, ...args) {
    require('errors').needFunction(f, 'callback');
    const job = args.length === 0 ? f : () => Reflect.apply(f, undefined, args);
    binding.nextTick(job);
  },
  hrtime, memoryUsage,
  uptime: () => binding.uptime(),
  cwd: () => root,
  emitWarning: (warning) => require('console').warn(String(warning)),
  stdout: stream('info'), stderr: stream('error'),
  stdin: new EventEmitter(),
});
Object.defineProperty(p, Symbol.toStringTag, { value: 'process', configurable: true });

// stream writes to the log, not to console, which may write to a stream.
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
