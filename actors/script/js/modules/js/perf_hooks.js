const performance = {
  now: binding.now, timeOrigin: binding.origin, mark() {}, measure() {}, clearMarks() {}, clearMeasures() {},
};
module.exports = { performance };
