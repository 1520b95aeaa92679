// tell evaluates f and returns what became of it as a text, the same in every engine: of errors their class alone.
function tell(f) {
  const show = (v, depth) => {
    if (v === null || v === undefined || typeof v === 'boolean') return String(v);
    if (typeof v === 'number') return Object.is(v, -0) ? '-0' : String(v);
    if (typeof v === 'string') return JSON.stringify(v);
    if (typeof v === 'symbol') return v.toString();
    if (typeof v === 'function') return 'function ' + v.name + '/' + v.length;
    if (depth > 4) return '...';
    const name = (Object.getPrototypeOf(v) || { constructor: { name: 'null' } }).constructor.name, parts = [];
    if (Array.isArray(v)) {
      for (let i = 0; i < Math.min(v.length, 50); i++) parts.push(i in v ? show(v[i], depth + 1) : 'hole');
      for (const key of Object.keys(v).sort()) if (!/^\d+$/.test(key)) parts.push(key + ': ' + show(v[key], depth + 1));
      return (name === 'Array' ? '' : name) + '(' + v.length + ')[' + parts.join(', ') + ']';
    }
    if (v instanceof Error) return name;
    if (v instanceof RegExp || v instanceof Number || v instanceof String || v instanceof Boolean) return name + ' ' + String(v);
    if (v instanceof Map || v instanceof Set) return name + show(Array.from(v), depth + 1);
    if (ArrayBuffer.isView(v) && v.length !== undefined) return name + '[' + Array.prototype.join.call(v, ', ') + ']';
    if (typeof v.next === 'function') return 'iterator' + show(Array.from(v), depth + 1);
    for (const key of Reflect.ownKeys(v)) parts.push(String(key) + ': ' + show(v[key], depth + 1));
    return (name === 'Object' ? '' : name) + '{' + parts.join(', ') + '}';
  };
  try {
    return show(f(), 0);
  } catch (e) {
    return 'throws ' + (e && e.name);
  }
}
