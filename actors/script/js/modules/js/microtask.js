module.exports = {
  queueMicrotask(f) {
    require('errors').needFunction(f, 'callback');
    Promise.resolve().then(() => f()).catch(binding.uncaught);
  },
};
