'use strict';

// A relay whose callbacks tell when they run, for `troupe faults`.
let logger;

exports.ssExports = {
  init(session) {
    logger = session.getLogger();
  },
  onPlayerConnect(message) {
    logger.info(`faults connect ${message.player.peerId}`);
    return true;
  },
  onPlayerAccepted(player) {
    logger.info(`faults accepted ${player.peerId}`);
  },
  onPlayerDisconnect(peerId) {
    logger.info(`faults disconnect ${peerId}`);
  },
};
