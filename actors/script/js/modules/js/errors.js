// Errors with a code, as in Node.js.
const coded = (Class, code, message) => Object.assign(new Class(message), { code });

const badType = (name, wanted, v) => coded(TypeError, 'ERR_INVALID_ARG_TYPE', `The "${name}" argument must be ${wanted}. Received ${v === null ? 'null' : typeof v}`);
function needFunction(v, name) { if (typeof v !== 'function') throw badType(name, 'of type function', v); }

module.exports = { coded, badType, needFunction };
