'use strict';

// A relay whose callbacks tell when they run, for `troupe faults`.
let logger;

function tell(callback, peerId) {
  logger.info(`faults ${callback} ${peerId} ${Date.now()}`);
}

exports.ssExports = {
  configuration: { maxPlayers: 200 }, // as many as troupe faults takes
  init(session) {
    logger = session.getLogger();
  },
  onPlayerConnect(message) {
    tell('connect', message.player.peerId);
    return true;
  },
  onPlayerAccepted(player) {
    tell('accepted', player.peerId);
  },
  onPlayerDetached(peerId) {
    tell('detached', peerId);
    return true;
  },
  onPlayerReconnected(peerId) {
    tell('reconnected', peerId);
  },
  onPlayerDisconnect(peerId) {
    tell('disconnect', peerId);
  },
};
