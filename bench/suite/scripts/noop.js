'use strict';
// Does nothing with what players send: what is left is the cost of the messages themselves.
exports.ssExports = {
  configuration: { maxPlayers: 200 },
  init: () => {},
  onProcessStarted: () => true,
  onPlayerConnect: () => true,
  onMessage: () => {},
  onHealthCheck: () => true,
};
