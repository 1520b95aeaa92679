// The files of the bundle, read-only.
const { Buffer } = require('buffer'), { coded, needFunction } = require('errors');
const path = require('path');

const words = { ENOENT: [-2, 'no such file or directory'], EACCES: [-13, 'permission denied'], EROFS: [-30, 'read-only file system'], EISDIR: [-21, 'illegal operation on a directory'], ENOTDIR: [-20, 'not a directory'], EBADF: [-9, 'bad file descriptor'] };

function failure(code, call, file) {
  const e = coded(Error, code, `${code}: ${words[code][1]}, ${call}${file === undefined ? '' : ` '${file}'`}`);
  e.errno = words[code][0];
  e.syscall = call;
  if (file !== undefined) e.path = file;
  return e;
}

function pathOf(p) {
  if (p !== null && typeof p === 'object') {
    if (Buffer.isBuffer(p)) p = p.toString();
    else if (typeof p.href === 'string') p = require('url').fileURLToPath(p);
  }
  if (typeof p !== 'string' || p.includes('\0')) throw coded(TypeError, 'ERR_INVALID_ARG_TYPE', 'The "path" argument must be a string without null bytes');
  return p;
}

// look returns what a path is, and throws if there is nothing.
function look(p, call) {
  const full = path.resolve(p);
  const kind = binding.kind(full);
  if (kind === 'outside') throw failure('EACCES', call, p);
  if (kind === '') throw failure('ENOENT', call, p);
  if (kind === 'file' && p.endsWith('/')) throw failure('ENOTDIR', call, p);
  return [full, kind];
}

const encodingOf = (options) => typeof options === 'string' ? options : options && options.encoding;

class Stats {
  constructor(full, kind) {
    Object.assign(this, { size: kind === 'file' ? binding.read(full).byteLength : 0, mtimeMs: binding.time, mtime: new Date(binding.time) });
    Object.defineProperty(this, 'kind', { value: kind });
  }
  isFile() { return this.kind === 'file'; }
  isDirectory() { return this.kind === 'folder'; }
  isSymbolicLink() { return false; }
}

const sync = {
  readFile(file, options) {
    const p = pathOf(file);
    const [full, kind] = look(p, 'open');
    if (kind !== 'file') throw failure('EISDIR', 'read');
    const b = Buffer.from(binding.read(full));
    const encoding = encodingOf(options);
    return encoding && encoding !== 'buffer' ? b.toString(encoding) : b;
  },
  stat(file, options) {
    const p = pathOf(file);
    try {
      return new Stats(...look(p, 'stat'));
    } catch (e) {
      if (e.code === 'ENOENT' && options && options.throwIfNoEntry === false) return undefined;
      throw e;
    }
  },
  readdir(dir, options) {
    const p = pathOf(dir);
    const [full, kind] = look(p, 'scandir');
    if (kind !== 'folder') throw failure('ENOTDIR', 'scandir', p);
    const names = binding.list(full);
    if (!options || !options.withFileTypes) return names;
    return names.map((name) => Object.assign(new Stats(`${full}/${name}`, binding.kind(`${full}/${name}`)), { name, path: full, parentPath: full }));
  },
  access(file, mode) {
    const p = pathOf(file);
    look(p, 'access');
    if (mode & 2) throw failure('EROFS', 'access', p);
  },
  realpath(file) { return look(pathOf(file), 'lstat')[0]; },
};
sync.lstat = sync.stat;
for (const name of ['writeFile', 'appendFile', 'mkdir', 'mkdtemp', 'rm', 'rmdir', 'unlink', 'rename', 'copyFile', 'cp', 'truncate', 'symlink', 'link', 'chmod', 'chown', 'utimes', 'open']) {
  sync[name] = (file) => { throw failure('EROFS', name, file); };
}

const promises = {}, fs = {};
for (const name of Object.keys(sync)) {
  fs[`${name}Sync`] = sync[name];
  fs[name] = (...args) => {
    const done = args.pop();
    needFunction(done, 'cb');
    let value;
    try {
      value = sync[name](...args);
    } catch (e) {
      require('process').nextTick(done, e);
      return;
    }
    require('process').nextTick(done, null, value);
  };
  promises[name] = async (...args) => sync[name](...args);
}
fs.existsSync = (file) => {
  try {
    look(pathOf(file), 'access');
    return true;
  } catch {
    return false;
  }
};
fs.constants = promises.constants = { F_OK: 0, R_OK: 4, W_OK: 2, X_OK: 1, O_RDONLY: 0, O_WRONLY: 1, O_RDWR: 2 };
Object.assign(fs, fs.constants, { Stats, promises });
module.exports = fs;
