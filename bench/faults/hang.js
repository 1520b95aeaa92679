'use strict';

// A game whose script loops without end when a player asks it to, for `troupe faults`.
exports.ssExports = {
  init() {},
  onMessage(message) {
    while (message.opCode > 0);
  },
};
