// RegExp.$1 and its kin tell of the last match. To know it, all matches have to go through exec.
const { apply } = Reflect;
const exec = RegExp.prototype.exec;
let last = [''], index = 0, input = '';
const get = (name, value) => Object.defineProperty(RegExp, name, { get: value, set() {}, configurable: true });

const methods = {
  exec(string) {
    const match = apply(exec, this, [string]);
    if (match) {
      last = match.slice();
      ({ index, input } = match);
    }
    return match;
  },
  test(string) { return this.exec(string) !== null; },
};
for (const name of Object.keys(methods)) Object.defineProperty(RegExp.prototype, name, { value: methods[name] });
for (let i = 1; i < 10; i++) get(`$${i}`, () => last[i] === undefined ? '' : last[i]);
for (const [name, sign, value] of [
  ['input', '$_', () => input], ['lastMatch', '$&', () => last[0]],
  ['lastParen', '$+', () => last.length > 1 && last[last.length - 1] || ''],
  ['leftContext', '$`', () => input.slice(0, index)], ['rightContext', '$\'', () => input.slice(index + last[0].length)],
]) {
  get(name, value);
  get(sign, value);
}
