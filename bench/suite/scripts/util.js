'use strict';
// The same game, with the module that published scripts require most.
const util = require('util');
const echo = require('./echo.js').ssExports;

let started;

exports.ssExports = Object.assign({}, echo, {
    onProcessStarted(args) {
        started = util.inspect(args);
        return started !== undefined;
    },
});
