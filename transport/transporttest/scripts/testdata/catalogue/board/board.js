'use strict';

// Style: the board game for two. JSDoc types, a default parameter, op code 0 to
// the clients, a session name that is not there, and the channel of a message.

const util = require('util');

const OP_BOARD = 0;
const OP_CHANNEL = 1;

/** @type {any} */
let session = null;
let logger = null;
/** @type {number[]} */
const board = new Array(4).fill(0);

/**
 * @param {any} rtSession the session object
 */
function init(rtSession) {
  session = rtSession;
  logger = session.getLogger();
  logger.info('[init] session ' + session.Name);
}

/**
 * Sends the board.
 * @param {number} peerId whom to
 * @param {string} [text] what; the board if left out
 */
function sendBoard(peerId, text = board.join('')) {
  session.sendReliableMessage(session.newTextGameMessage(OP_BOARD, session.getServerId(), text), peerId);
}

/** @param {{peerId: number, playerSessionId: string}} player */
function onPlayerAccepted(player) {
  sendBoard(player.peerId, 'welcome');
  sendBoard(player.peerId);
}

/** @param {any} gameMessage */
function onMessage(gameMessage) {
  const { sender, reliable, opCode } = gameMessage;
  logger.info(util.format('message %d from %d, reliable: %s', opCode, sender, reliable));
  if (opCode >= 0 && opCode < board.length) {
    board[opCode] = sender;
  }
  for (const [id] of session.getPlayers()) {
    sendBoard(id);
  }
  if (board.every((cell) => cell !== 0)) {
    session.processEnding().then((outcome) => {
      logger.info(`outcome ${outcome}`);
      process.exit(0);
    });
  }
}

exports.ssExports = {
  configuration: { maxPlayers: 2, pingIntervalTime: 3000 },
  init,
  onPlayerConnect: () => true,
  onPlayerAccepted,
  onMessage,
  onSendToPlayer: () => false,
  onHealthCheck: () => true,
};
