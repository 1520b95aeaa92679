// Calls every built-in with lists whose length is hostile, in all places. Share says which calls: [this one, of so many].
exports.sweep = function (share, said) {
  const { apply, construct, ownKeys, getOwnPropertyDescriptor, getPrototypeOf } = Reflect;
  const list = (f) => { let n = 0; return f(() => (n++ ? 1e11 : 1)); };
  const hostile = [
    () => ({ length: 1e11 }),
    () => list((next) => ({ get length() { return next(); }, 0: 'a' })),
    () => list((next) => new Proxy(['a'], { get: (of, key) => (key === 'length' ? next() : of[key]) })),
    () => { const a = []; a.length = 4294967295; return a; },
    () => list((next) => ({ length: { valueOf: next }, 0: 'a' })),
    () => list((next) => { const e = /a/g; e.exec = () => (next() === 1 ? { length: next(), index: 0, 0: 'a' } : null); return e; }),
  ];
  const places = [
    (f, h) => apply(f, h(), []), (f, h) => apply(f, h(), [h(), h(), h()]), (f, h) => apply(f, [1, 2], [h()]), (f, h) => apply(f, [1, 2], [0, h()]),
    (f, h) => apply(f, 'ab', [h(), h()]), (f, h) => apply(f, /a/g, [h(), 'b']), (f, h) => apply(f, () => 1, [null, h()]), (f, h) => apply(f, undefined, [{ x: 1 }, h()]),
    (f, h) => apply(f, new Uint8Array(2), [h(), 1]), (f, h) => apply(f, undefined, [() => 1, undefined, h()]), (f, h) => apply(f, undefined, [Object, h()]), (f, h) => apply(f, h(), ['a', 'b']),
    (f, h) => construct(f, [h()]), (f, h) => construct(f, [h(), h()]),
  ];
  const never = ['exit', 'abort', 'kill', 'reallyExit', 'sweep', 'debugger'];
  const functions = [];
  const seen = new Set();
  const roots = [globalThis, getPrototypeOf(Uint8Array), getPrototypeOf(function* () {}), getPrototypeOf(async () => {}), getPrototypeOf([][Symbol.iterator]()), getPrototypeOf(''[Symbol.iterator]()),
    getPrototypeOf(new Map()[Symbol.iterator]()), getPrototypeOf(new Set()[Symbol.iterator]()), getPrototypeOf('a'.matchAll(/a/g)), require, process, Buffer,
    ...['assert', 'buffer', 'events', 'fs', 'os', 'path', 'perf_hooks', 'timers', 'url', 'util', 'crypto', 'console'].map((name) => require(name))];
  while (roots.length) {
    const o = roots.shift();
    if ((typeof o !== 'object' && typeof o !== 'function') || o === null || seen.has(o)) continue;
    seen.add(o);
    if (typeof o === 'function' && !never.includes(o.name)) functions.push(o);
    roots.push(getPrototypeOf(o));
    for (const key of ownKeys(o)) {
      const p = getOwnPropertyDescriptor(o, key);
      roots.push(p.value, p.get, p.set);
    }
  }
  let calls = 0, done = 0;
  for (const f of functions) {
    said(f.name);
    for (const h of hostile) {
      for (const call of places) {
                if (calls++ % share[1] !== share[0]) continue;
        done++;
        try {
          const v = call(f, h);
          if (v && typeof v.catch === 'function') apply(v.catch, v, [() => {}]);
        } catch (e) { /* as it should */ }
      }
    }
  }
  return [functions.length, done];
};
