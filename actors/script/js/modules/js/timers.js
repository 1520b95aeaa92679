// The timers are looked up when they are called: scripts replace them.
const timers = {};
for (const name of ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'clearImmediate']) {
  Object.defineProperty(timers, name, { get: () => globalThis[name], enumerable: true, configurable: true });
}
Object.defineProperty(timers, 'promises', { get: () => require('timers_promises'), enumerable: true, configurable: true });
module.exports = timers;
