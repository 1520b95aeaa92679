'use strict';

// Style: the class-based server. Methods are exported without being bound, so
// `this` is ssExports, and what they need hangs there.

const { Server } = require('./server');

const server = new Server();

exports.ssExports = {
  configuration: server.configuration,
  init: server.init,
  onProcessStarted: server.onProcessStarted,
  onPlayerConnect: server.onPlayerConnect,
  onPlayerAccepted: server.onPlayerAccepted,
  onPlayerDisconnect: server.onPlayerDisconnect,
  onMessage: server.onMessage,
  onPlayerJoinGroup: server.onPlayerJoinGroup,
  onPlayerLeaveGroup: server.onPlayerLeaveGroup,
};
