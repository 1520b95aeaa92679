'use strict';

// What keeps input that is nested deeply from the built-ins that recurse over it; see
// guard.go. That for eval is in eval.go.
function define(object, name, value) {
  Object.defineProperty(object, name, { value: value, writable: true, configurable: true });
}

exports.create = function create(host, global, functions, flats, sized) {
  function guarded(kind, original) {
    function guard() {
      const sources = host.functionSources(kind, arguments);
      return new.target === undefined || new.target === guard ? Reflect.construct(original, sources) : Reflect.construct(original, sources, new.target);
    }
    Object.defineProperty(guard, 'name', { value: original.name, configurable: true });
    Object.defineProperty(guard, 'length', { value: 1, configurable: true });
    Object.defineProperty(guard, 'prototype', { value: original.prototype, writable: false });
    define(original.prototype, 'constructor', guard);
    return guard;
  }
  if (functions) {
    define(global, 'Function', guarded('function', global.Function));
    guarded('function*', (function* () {}).constructor);
    guarded('async function', (async function () {}).constructor);
  }

  // What holds bytes asks for them at once (sizes.go).
  sized.forEach(name => {
    const original = global[name];
    if (typeof original !== 'function') return;
    const guard = host.sized(original);
    Object.getOwnPropertyNames(original).concat(Object.getOwnPropertySymbols(original)).forEach(key => {
      Object.defineProperty(guard, key, Object.getOwnPropertyDescriptor(original, key));
    });
    Object.setPrototypeOf(guard, Object.getPrototypeOf(original));
    define(original.prototype, 'constructor', guard);
    define(global, name, guard);
  });

  const flat = Array.prototype.flat;
  if (flats) define(Array.prototype, 'flat', { flat(depth) {
    if (!(depth > 100)) return flat.call(this, depth);
    const out = [], open = [{ array: this, at: 0 }];
    while (open.length !== 0) {
      const top = open[open.length - 1];
      if (top.at >= top.array.length) open.pop();
      else if (top.at in top.array) {
        const value = top.array[top.at++];
        if (Array.isArray(value) && open.length <= depth) open.push({ array: value, at: 0 });
        else out.push(value);
      } else top.at++;
    }
    return out;
  } }.flat);
};
