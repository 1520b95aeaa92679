// Style: the pong server. No configuration at all, payloads through
// String.fromCharCode.apply, a tick that renews itself every 500 ms, ids turned
// into text, and players that also write to each other directly.

let session = null;
let startTime = null;
let logger = null;
const tickTime = 500;
let state = { phase: 'waiting', ready: {}, score: [0, 0] };

const READY = 10;
const START = 11;
const HIT = 12;
const SCORE = 13;
const OVER = 14;

function init(rtSession) {
    session = rtSession;
    logger = session.getLogger();
}

function onProcessStarted(args) {
    return true;
}

function onStartGameSession(gameSession) {
    startTime = getTimeInS();
    tickLoop();
}

function onPlayerConnect(connectMsg) {
    return true;
}

function onPlayerAccepted(player) {
    logger.info('accepted ' + player.peerId.toString());
}

function broadcast(opCode, text) {
    session.getPlayers().forEach((player, playerId) => {
        session.sendReliableMessage(session.newTextGameMessage(opCode, session.getServerId(), text), playerId);
        logger.info('to ' + playerId.toString() + ': ' + text);
    });
}

function onMessage(gameMessage) {
    let text = String.fromCharCode.apply(null, gameMessage.payload);
    switch (gameMessage.opCode) {
        case READY:
            state.ready[gameMessage.sender] = text;
            logger.info(gameMessage.sender + ' is ready: ' + text);
            break;
        case HIT:
            state.score[gameMessage.sender - 1]++;
            broadcast(SCORE, state.score.join('-'));
            break;
    }
}

function onSendToPlayer(gameMessage) {
    return true;
}

async function tickLoop() {
    const elapsed = getTimeInS() - startTime;
    if (state.phase === 'waiting' && Object.keys(state.ready).length === 2) {
        state.phase = 'playing';
        broadcast(START, Object.values(state.ready).join(' vs '));
    }
    if (state.phase === 'playing' && state.score.includes(2)) {
        state.phase = 'over';
        broadcast(OVER, 'over');
        stopGame();
    } else if (elapsed < 600) {
        setTimeout(tickLoop, tickTime);
    }
}

function stopGame() {
    session.processEnding().then((outcome) => {
        logger.info('Completed process ending with: ' + outcome);
        process.exit(0);
    });
}

function onPlayerDisconnect(peerId) {
    logger.info('gone ' + peerId.toString());
}

function getTimeInS() {
    return Math.round(new Date().getTime() / 1000);
}

exports.ssExports = {
    init: init,
    onProcessStarted: onProcessStarted,
    onStartGameSession: onStartGameSession,
    onPlayerConnect: onPlayerConnect,
    onPlayerAccepted: onPlayerAccepted,
    onMessage: onMessage,
    onSendToPlayer: onSendToPlayer,
    onPlayerDisconnect: onPlayerDisconnect
};
