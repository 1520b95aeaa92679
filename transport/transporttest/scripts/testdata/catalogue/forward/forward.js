// Style: the relay tests. No configuration; a payload goes on as it came.

var util = require('util');
var session;

exports.ssExports = {
    init: function (rtSession) {
        session = rtSession;
    },
    onMessage: function (gameMessage) {
        session.getLogger().debug(util.inspect(gameMessage));
        session.sendGroupMessage(session.newBinaryGameMessage(gameMessage.opCode, gameMessage.sender, gameMessage.payload), -1);
    }
};
