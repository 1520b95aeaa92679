'use strict';

// Style: the example of the documentation. All 14 keys, a tick that ends the game
// when nobody is left, op codes of its own.

const tickTime = 50;
const minimumElapsedTime = 120;

const OP_CODE_CUSTOM_OP1 = 111;
const OP_CODE_CUSTOM_OP1_REPLY = 112;
const OP_CODE_PLAYER_ACCEPTED = 113;
const OP_CODE_DISCONNECT_NOTIFICATION = 114;
const RED_TEAM_GROUP = 1;

let session;
let logger;
let startTime;
let activePlayers = 0;
let onProcessStartedCalled = false;

const configuration = {
  pingIntervalTime: 30000,
  maxPlayers: 32,
};

function init(rtSession) {
  session = rtSession;
  logger = session.getLogger();
}

function onProcessStarted(args) {
  onProcessStartedCalled = true;
  logger.info('Starting process with args: ' + args);
  return true;
}

function onStartGameSession(gameSession) {
  logger.info('started: ' + onProcessStartedCalled + ', properties: ' + JSON.stringify(gameSession.GameProperties));
  startTime = getTimeInS();
  tickLoop();
}

function onProcessTerminate() {
  logger.info('terminated');
}

function onHealthCheck() {
  return true;
}

function onPlayerConnect(connectMsg) {
  return connectMsg.payload.length < 100;
}

function onPlayerAccepted(player) {
  const msg = session.newTextGameMessage(OP_CODE_PLAYER_ACCEPTED, player.peerId, 'Peer ' + player.peerId + ' accepted');
  session.sendReliableMessage(msg, player.peerId);
  activePlayers++;
}

function onPlayerDisconnect(peerId) {
  const outMessage = session.newTextGameMessage(OP_CODE_DISCONNECT_NOTIFICATION, session.getServerId(), 'Peer ' + peerId + ' disconnected');
  session.getPlayers().forEach((player, playerId) => {
    if (playerId !== peerId) {
      session.sendReliableMessage(outMessage, playerId);
    }
  });
  activePlayers--;
}

function onMessage(gameMessage) {
  switch (gameMessage.opCode) {
    case OP_CODE_CUSTOM_OP1: {
      const reply = session.newTextGameMessage(OP_CODE_CUSTOM_OP1_REPLY, session.getServerId(), gameMessage.getPayloadAsText());
      session.sendGroupMessage(reply, RED_TEAM_GROUP);
      break;
    }
  }
}

function onSendToPlayer(gameMessage) {
  return !gameMessage.getPayloadAsText().includes('Reject');
}

function onSendToGroup(gameMessage) {
  return true;
}

function onPlayerJoinGroup(groupId, peerId) {
  return groupId !== 2;
}

function onPlayerLeaveGroup(groupId, peerId) {
  return true;
}

async function tickLoop() {
  const elapsedTime = getTimeInS() - startTime;
  if (activePlayers === 0 && elapsedTime > minimumElapsedTime) {
    logger.info('All players disconnected. Ending game');
    const outcome = await session.processEnding();
    logger.info('Completed process ending with: ' + outcome);
    process.exit(0);
  } else {
    setTimeout(tickLoop, tickTime);
  }
}

function getTimeInS() {
  return Math.round(new Date().getTime() / 1000);
}

exports.ssExports = {
  configuration: configuration,
  init: init,
  onProcessStarted: onProcessStarted,
  onMessage: onMessage,
  onPlayerConnect: onPlayerConnect,
  onPlayerAccepted: onPlayerAccepted,
  onPlayerDisconnect: onPlayerDisconnect,
  onSendToPlayer: onSendToPlayer,
  onSendToGroup: onSendToGroup,
  onPlayerJoinGroup: onPlayerJoinGroup,
  onPlayerLeaveGroup: onPlayerLeaveGroup,
  onStartGameSession: onStartGameSession,
  onProcessTerminate: onProcessTerminate,
  onHealthCheck: onHealthCheck,
};
