const setTimeout = (ms, value) => new Promise((resolve) => globalThis.setTimeout(() => resolve(value), ms));
const setImmediate = (value) => new Promise((resolve) => globalThis.setImmediate(() => resolve(value)));
module.exports = { setTimeout, setImmediate, scheduler: { wait: (ms) => setTimeout(ms), yield: () => setImmediate() } };
