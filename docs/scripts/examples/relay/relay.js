'use strict';

// The smallest useful script: players send messages to each other freely, the
// server sends the roster, and the game ends when the last player has left.
//
// A script is the object ssExports. Only init is required; a missing callback
// allows everything.

const OP_ROSTER = 100; // server to all: the peer ids that are there, as JSON

let session;
let logger;

exports.ssExports = {
  configuration: {
    maxPlayers: 16,
    pingIntervalTime: 3000, // milliseconds
  },

  // Called once, with the session object that all calls to the host use.
  init(rtSession) {
    session = rtSession;
    logger = session.getLogger();
  },

  // The player can receive from here on, and is in getPlayers().
  onPlayerAccepted(player) {
    logger.info(`player ${player.peerId} is here`);
    tellRoster();
  },

  // The player is still in getPlayers() while this runs.
  onPlayerDisconnect(peerId) {
    logger.info(`player ${peerId} has left`);
    const left = peers().filter((id) => id !== peerId);
    if (left.length === 0) {
      endGame();
    } else {
      tellRoster(left);
    }
  },

  // The gates of messages between players. A falsy result refuses the message.
  onSendToPlayer(gameMessage) {
    return gameMessage.payload.length <= 1024;
  },

  onSendToGroup(gameMessage) {
    return gameMessage.payload.length <= 1024;
  },
};

function peers() {
  return Array.from(session.getPlayers().keys()); // a Map, in order of acceptance
}

function tellRoster(ids = peers()) {
  const message = session.newTextGameMessage(OP_ROSTER, session.getServerId(), JSON.stringify(ids));
  for (const id of ids) {
    session.sendReliableMessage(message, id); // one message may go to many
  }
}

async function endGame() {
  await session.processEnding(); // no more logins
  process.exit(0); // without it the host ends the game session 10 s later
}
