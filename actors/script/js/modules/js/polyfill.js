// What the engine's library lacks of the current one.
function group(make, add) {
  return (items, f) => {
    const out = make();
    let i = 0;
    for (const v of items) add(out, f(v, i++), v);
    return out;
  };
}
const lone = /[\ud800-\udfff]/u; // two classes of halves are one for the engine

module.exports = {
  groupBy: group(() => Object.create(null), (o, k, v) => { (o[k] = o[k] || []).push(v); }),
  mapGroupBy: group(() => new Map(), (m, k, v) => { m.has(k) ? m.get(k).push(v) : m.set(k, [v]); }),
  withResolvers() {
    const out = {};
    out.promise = new this((resolve, reject) => Object.assign(out, { resolve, reject }));
    return out;
  },
  promiseTry(f, ...args) { return new this((resolve) => resolve(f(...args))); },
  async fromAsync(items, f, self) {
    const out = [];
    const iterate = items[Symbol.asyncIterator] || items[Symbol.iterator];
    if (iterate === undefined) items = Array.from(items);
    const it = (iterate || items[Symbol.iterator]).call(items);
    for (let step = await it.next(); !step.done; step = await it.next()) {
      const v = await step.value;
      out.push(f ? await f.call(self, v, out.length) : v);
    }
    return out;
  },
  isWellFormed() { return !lone.test(this); },
  toWellFormed() { return require('util').toUSVString(this); },
  // Nothing is ever collected: the language allows it.
  WeakRef: class WeakRef {
    #target;
    constructor(target) {
      if (target === null || typeof target !== 'object' && typeof target !== 'function') throw new TypeError('WeakRef: target must be an object');
      this.#target = target;
    }
    deref() { return this.#target; }
    get [Symbol.toStringTag]() { return 'WeakRef'; }
  },
  FinalizationRegistry: class FinalizationRegistry {
    constructor(f) { if (typeof f !== 'function') throw new TypeError('FinalizationRegistry: cleanup must be callable'); }
    register() {}
    unregister() { return false; }
    get [Symbol.toStringTag]() { return 'FinalizationRegistry'; }
  },
};
