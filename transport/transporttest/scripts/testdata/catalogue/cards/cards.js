// Style: the card game. The file begins with a byte order mark, payloads are JSON
// through `new Buffer.from`, whole objects go into the log, and who leaves is
// still sent to.

const session = { rt: null };
var logger;
var players = [];
var handSize = 2;

const PLAYER_ACCEPTED_OP = 113;
const PLAY_CARD_OP = 201;
const DRAW_OP = 202;
const GOODBYE_OP = 203;

function init(rtSession) {
  session.rt = rtSession;
  logger = rtSession.getLogger();
}

function onProcessStarted(args) {
  logger.info("starting with", args);
  return true;
}

function onPlayerConnect(connectMsg) {
  logger.info("connecting:", connectMsg.player.peerId, typeof connectMsg.player.playerSessionId);
  let payloadRaw = new Buffer.from(connectMsg.payload);
  let payload = JSON.parse(payloadRaw);
  logger.info(payload);
  players.push({ id: payload.playerId, peerId: connectMsg.player.peerId, sessionId: connectMsg.player.playerSessionId, hand: [] });
  return true;
}

function onPlayerAccepted(player) {
  const entry = players.find(p => p.sessionId === player.playerSessionId);
  sendStringToClient([entry.peerId], PLAYER_ACCEPTED_OP, JSON.stringify({ you: entry.id, others: players.length - 1 }));
}

function onMessage(gameMessage) {
  switch (gameMessage.opCode) {
    case PLAY_CARD_OP: {
      const card = JSON.parse(new Buffer.from(gameMessage.payload));
      logger.info({ card: card, sender: gameMessage.sender, bytes: gameMessage.payload });
      sendStringToClient(players.map(p => p.peerId), DRAW_OP, JSON.stringify(card));
      break;
    }
    default:
      logger.warn("unknown op code", gameMessage.opCode);
  }
}

function onPlayerDisconnect(peerId) {
  // The one who leaves is among them.
  session.rt.getPlayers().forEach((player, playerId) => {
    sendStringToClient([playerId], GOODBYE_OP, "player " + peerId + " left");
  });
  players = players.filter(p => p.peerId !== peerId);
  if (players.length === 0) {
    endGame();
  }
}

async function endGame() {
  const outcome = await session.rt.processEnding();
  logger.info("ended", String(outcome));
  process.exit(0);
}

function sendStringToClient(peerIds, opCode, stringToSend) {
  let gameMessage = session.rt.newTextGameMessage(opCode, -1, stringToSend);
  for (let index = 0; index < peerIds.length; index++) {
    session.rt.sendReliableMessage(gameMessage, peerIds[index]);
  }
}

exports.ssExports = {
  init: init,
  onProcessStarted: onProcessStarted,
  onPlayerConnect: onPlayerConnect,
  onPlayerAccepted: onPlayerAccepted,
  onMessage: onMessage,
  onPlayerDisconnect: onPlayerDisconnect,
  onHealthCheck: () => true,
};
