// Style: the augmented reality backend. It sends inside onPlayerConnect, before
// the player is in; a payload argument that is a function by mistake; a player
// object as a target; console.log.

const util = require('util');
const Packet_pb = require('../src/proto/Packet_pb');
const gameloop = require('./gameloop');

const HELLO = 50;
const STATE = 51;
const ECHO = 52;
const MISTAKE = 53;

let session;
let logger;
let ticks = 0;

function stateAsText() {
    return 'state';
}

exports.ssExports = {
    configuration: { maxPlayers: 4 },
    init: function (rtSession) {
        session = rtSession;
        logger = session.getLogger();
    },
    onStartGameSession: function (gameSession) {
        gameloop.setGameLoop(function () { if (++ticks === 1) console.log('ticking'); }, 50);
    },
    onPlayerConnect: function (connectMsg) {
        console.log('connecting', connectMsg.player.peerId);
        const hello = session.newTextGameMessage(HELLO, session.getServerId(), 'you are ' + connectMsg.player.peerId);
        session.sendReliableMessage(hello, connectMsg.player.peerId); // not accepted yet
        return true;
    },
    onPlayerAccepted: function (player) {
        session.sendMessage(session.newTextGameMessage(STATE, session.getServerId(), 'accepted'), player);
        // The function, not what it returns.
        session.sendMessage(session.newTextGameMessage(MISTAKE, session.getServerId(), stateAsText), player);
    },
    onMessage: function (gameMessage) {
        const buffer = new Buffer.from(gameMessage.payload);
        console.log('message', gameMessage.opCode, buffer.toString('utf8'));
        const sender = session.getPlayers().get(gameMessage.sender);
        session.sendMessage(session.newTextGameMessage(ECHO, gameMessage.sender, buffer), sender);
        if (buffer.toString() === 'stop') {
            console.log(util.format('ticked: %s', ticks > 0));
            session.processEnding().then(function () { process.exit(0); });
        }
    },
    onPlayerDisconnect: function (peerId) {
        console.log('disconnected', peerId);
    },
    onHealthCheck: function () { return true; }
};
