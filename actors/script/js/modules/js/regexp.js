// RegExp, which gives the engine what it takes for the same (compile.MendRegexp).
const Plain = RegExp;
const mended = (pattern, flags) => {
  if (typeof pattern !== 'string' || flags !== undefined && typeof flags !== 'string' || !/[$^]|\\u[dD]/.test(pattern) || /[\ud800-\udfff]/u.test(pattern)) return [pattern, flags];
  return [binding.mend(pattern, flags || ''), flags];
};

function Mended(pattern, flags) {
  if (!new.target && flags === undefined && pattern instanceof Plain && pattern.constructor === Mended) return pattern;
  return Reflect.construct(Plain, mended(pattern, flags), new.target || Mended);
}
for (const key of ['name', 'length', 'prototype', Symbol.species]) Object.defineProperty(Mended, key, Object.getOwnPropertyDescriptor(Plain, key));
Object.defineProperty(Plain.prototype, 'constructor', { value: Mended });

module.exports = Mended;
