// Style: the platform game. A string is sent where a message belongs, the end is
// said in onProcessTerminate against all advice, and process.exit is commented out.

var util = require('util');

var session;
var logger;

var WELCOME = 1;
var SAID = 2;

function init(s) {
    session = s;
    logger = session.getLogger();
}

function onPlayerAccepted(player) {
    session.sendMessage("welcome", player.peerId); // not a message
    session.sendReliableMessage(session.newTextGameMessage(WELCOME, session.getServerId(), "welcome"), player.peerId);
}

function onMessage(gameMessage) {
    var sender = gameMessage.sender.toString();
    logger.info(util.inspect({ from: sender, text: gameMessage.getPayloadAsText() }));
    session.sendGroupMessage(session.newTextGameMessage(SAID, gameMessage.sender, sender + " said it"), -1);
}

function onProcessTerminate() {
    logger.info("terminate");
    session.processEnding();
    // process.exit(0);
}

exports.ssExports = {
    configuration: { pingIntervalTime: 30000 },
    init: init,
    onProcessStarted: function () { return true; },
    onProcessTerminate: onProcessTerminate,
    onPlayerConnect: function () { return true; },
    onPlayerAccepted: onPlayerAccepted,
    onMessage: onMessage,
    onHealthCheck: function () { return true; }
};
