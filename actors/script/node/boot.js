'use strict';
// Node starts with this file. What it loads has names by which stacks tell the
// host's frames from the script's.
const fs = require('fs'), path = require('path'), vm = require('vm');

const loaded = {};

function load(name) {
  if (!loaded[name]) {
    const source = fs.readFileSync(path.join(__dirname, name + '.js'), 'utf8');
    const module = loaded[name] = { exports: {} };
    const script = new vm.Script('(function (exports, require, module, load) {' + source + '\n})', { filename: 'troupe:' + name });
    module.script = script; // contexts.js runs one of them again
    script.runInThisContext()(module.exports, require, module, load);
  }
  return loaded[name].exports;
}

load.script = name => loaded[name].script;
load('shim').run(process.argv[2] === 'shared' ? load('contexts') : load('own'), url => import(url));
