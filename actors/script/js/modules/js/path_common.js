// What the paths of both kinds of systems have.
function check(v, name = 'path') {
  if (typeof v === 'string') return;
  const e = new TypeError(`The "${name}" argument must be of type string. Received ${v === null || v === undefined ? v : typeof v === 'object' ? `an instance of ${v.constructor ? v.constructor.name : 'Object'}` : `type ${typeof v} (${require('inspect').inspect(v)})`}`);
  e.code = 'ERR_INVALID_ARG_TYPE';
  throw e;
}

function format(o, sep) {
  if (o === null || typeof o !== 'object') {
    const e = new TypeError(`The "pathObject" argument must be of type object. Received ${o === null ? 'null' : typeof o}`);
    e.code = 'ERR_INVALID_ARG_TYPE';
    throw e;
  }
  const dir = o.dir || o.root;
  const base = o.base || `${o.name || ''}${o.ext ? (o.ext[0] === '.' ? '' : '.') + o.ext : ''}`;
  if (!dir) return base;
  return dir === o.root ? `${dir}${base}` : `${dir}${sep}${base}`;
}

module.exports = { check, format };
