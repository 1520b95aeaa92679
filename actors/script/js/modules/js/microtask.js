module.exports = {
  queueMicrotask(f) {
    if (typeof f !== 'function') throw new TypeError(`The "callback" argument must be of type function. Received ${f}`);
    Promise.resolve().then(() => f()).catch(binding.uncaught);
  },
};
