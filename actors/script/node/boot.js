'use strict';
// Node starts with this file. What it loads has names by which stacks tell the
// host's frames from the script's.
const fs = require('fs'), path = require('path'), vm = require('vm');

function load(file, name) {
  const source = fs.readFileSync(path.join(__dirname, file), 'utf8');
  const module = { exports: {} };
  vm.runInThisContext('(function (exports, require, module) {' + source + '\n})', { filename: name })(module.exports, require, module);
  return module.exports;
}

load('shim.js', 'troupe:shim').run(load('realtime.js', 'troupe:realtime'), url => import(url));
