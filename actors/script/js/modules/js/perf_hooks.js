const performance = {
  now: binding.now, timeOrigin: binding.origin, mark() {}, measure() {}, clearMarks() {}, clearMeasures() {},
  getEntries: () => [], getEntriesByName: () => [], getEntriesByType: () => [],
  timerify: (f) => f, toJSON: () => ({ timeOrigin: binding.origin }),
};
module.exports = { performance };
