// Style: the racing game. Ids are compared strictly, a player object is passed
// where an id belongs, and the last words are said in onProcessTerminate. There
// are no group callbacks.

let session;
let logger;

const LAP = 5;
const CAR = 6;
const WELCOME = 7;
const SHUTDOWN = 8;

function init(s) {
  session = s;
  logger = s.getLogger();
}

function onPlayerConnect() {
  return true;
}

function onPlayerAccepted(player) {
  // The whole player, not its id.
  session.sendReliableMessage(session.newTextGameMessage(WELCOME, player.peerId, "car " + player.peerId), player);
  session.getPlayers().forEach((other, otherId) => {
    if (otherId !== player.peerId) {
      session.sendReliableMessage(session.newTextGameMessage(CAR, player.peerId, "new"), otherId);
    }
  });
}

function onMessage(gameMessage) {
  const sender = gameMessage.sender;
  const payload = gameMessage.payload;
  session.getPlayers().forEach((player, playerId) => {
    if (playerId !== sender) {
      session.sendReliableMessage(session.newTextGameMessage(LAP, sender, payload), playerId);
    }
  });
}

function onProcessTerminate() {
  logger.info("the server goes down");
  session.getPlayers().forEach((player, playerId) => {
    session.sendReliableMessage(session.newTextGameMessage(SHUTDOWN, session.getServerId(), "server shutting down"), playerId);
  });
}

function onPlayerDisconnect(peerId) {
  if (session.getPlayers().size === 1) {
    session.processEnding().then(() => process.exit(0));
  }
}

exports.ssExports = {
  configuration: { pingIntervalTime: 30000 },
  init: init,
  onProcessStarted: () => true,
  onStartGameSession: () => {},
  onProcessTerminate: onProcessTerminate,
  onPlayerConnect: onPlayerConnect,
  onPlayerAccepted: onPlayerAccepted,
  onPlayerDisconnect: onPlayerDisconnect,
  onMessage: onMessage,
  onSendToPlayer: () => true,
  onHealthCheck: () => true,
};
