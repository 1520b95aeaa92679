'use strict';

// Style: the race sample. A loop module of its own, a generated protobuf module
// that is loaded and never used, an empty configuration, no health check, fast
// messages as soon as a player is in, everything inspected.

const util = require('util');
const messages = require('../src/proto/Packet_pb');
const gameloop = require('./gameloop.js');

const FINISH = 3;
const RACE_START = 101;
const RACE_POSITION = 102;
const RACE_OVER = 103;
const LOGICAL_PLAYER = 100;
const HOP = 113;

let session = null;
let logger = null;
let loop = 0;
let racing = false;
let frogs = [];

const configuration = {};

function init(_session) {
    session = _session;
    logger = session.getLogger();
    logger.info('[init] ' + util.inspect(session));
}

function onProcessStarted(args) {
    logger.info('[onProcessStarted] ' + args);
    return true;
}

function onStartGameSession(gameSession) {
    logger.info('[onStartGameSession] ' + typeof gameSession.GameSessionId);
    loop = gameloop.start(tick, 20);
}

function onPlayerConnect(player) {
    logger.info('[onPlayerConnect] peer ' + player.peerId);
    return frogs.length < 2;
}

function sendString(peer, opCode, text) {
    const message = session.newTextGameMessage(opCode, peer, text);
    session.sendMessage(message, peer);
}

function onPlayerAccepted(player) {
    frogs.push({ peer: player.peerId, at: 0 });
    sendString(player.peerId, LOGICAL_PLAYER, (frogs.length - 1).toString());
}

function tick(seconds) {
    if (!racing && frogs.length === 2 && seconds > 0) {
        racing = true;
        frogs.forEach((frog) => sendString(frog.peer, RACE_START, 'go'));
    }
}

function onMessage(gameMessage) {
    logger.info('[onMessage] ' + util.inspect(gameMessage));
    if (gameMessage.opCode !== HOP || !racing) {
        return;
    }
    const hopper = frogs.find((frog) => frog.peer === gameMessage.sender);
    hopper.at++;
    frogs.forEach((frog) => sendString(frog.peer, RACE_POSITION, hopper.peer + ':' + hopper.at));
    if (hopper.at >= FINISH) {
        gameloop.stop(loop);
        frogs.forEach((frog) => sendString(frog.peer, RACE_OVER, hopper.peer.toString()));
        stopGame();
    }
}

function stopGame() {
    session.processEnding().then(function (outcome) {
        logger.info('process ending: ' + outcome);
        process.exit(0);
    });
}

function onPlayerDisconnect(peerId) {
    logger.info('[onPlayerDisconnect] ' + peerId);
    frogs = frogs.filter((frog) => frog.peer !== peerId);
}

function onSendToPlayer(gameMessage) {
    return true;
}

function onProcessTerminate() {
    logger.info('[onProcessTerminate]');
}

exports.ssExports = {
    configuration: configuration,
    init: init,
    onProcessStarted: onProcessStarted,
    onStartGameSession: onStartGameSession,
    onProcessTerminate: onProcessTerminate,
    onPlayerConnect: onPlayerConnect,
    onPlayerAccepted: onPlayerAccepted,
    onPlayerDisconnect: onPlayerDisconnect,
    onMessage: onMessage,
    onSendToPlayer: onSendToPlayer
};
