'use strict';

// A game without rules, whose players `troupe faults` has send to those who are away.
exports.ssExports = {
  init() {},
};
