// Run by Node.js: writes expressions.json, what the expressions of expressions.txt are there.
const fs = require('fs'), path = require('path');
const read = (name) => fs.readFileSync(path.join(__dirname, name), 'utf8');
const tell = new Function(read('tell.js') + '; return tell;')();
const rows = read('expressions.txt').split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  .map((source) => ({ source, node: tell(new Function('return ' + source)) }));
fs.writeFileSync(path.join(__dirname, 'expressions.json'), `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`);
