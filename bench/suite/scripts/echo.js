'use strict';
// A small game: it knows its players, counts what they say, and answers each.
let session;
let logger;
const players = new Map();
let said = 0;

function init(s) {
    session = s;
    logger = session.getLogger();
}

function onProcessStarted(args) {
    logger.debug('process started with ' + args.join(' '));
    return true;
}

function onStartGameSession(gameSession) {
    logger.info('game session ' + gameSession.GameSessionId);
}

function onPlayerConnect(connect) {
    return true;
}

function onPlayerAccepted(player) {
    players.set(player.peerId, { since: Date.now(), said: 0 });
}

function onPlayerDisconnect(peerId) {
    players.delete(peerId);
}

function onMessage(message) {
    const player = players.get(message.sender);
    if (player !== undefined) {
        player.said++;
    }
    said++;
    const answer = session.newBinaryGameMessage(message.opCode, session.getServerId(), message.payload);
    session.sendReliableMessage(answer, message.sender);
}

exports.ssExports = {
    init, onProcessStarted, onStartGameSession, onPlayerConnect, onPlayerAccepted, onPlayerDisconnect, onMessage,
    onHealthCheck: () => true,
    onProcessTerminate: () => { session.processEnding().then(() => process.exit(0)); },
};
