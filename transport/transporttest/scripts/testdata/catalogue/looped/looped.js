// Style: the user of a loop package. It reads a field that messages do not have,
// gets the number of arguments wrong, and is for two.

const gameloop = require('node-gameloop');
const util = require('util');

let session;
let logger;
let frames = 0;
let loop;

const FRAME = 1;
const CONTENTS = 2;

exports.ssExports = {
  configuration: { maxPlayers: 2, pingIntervalTime: 30000 },
  init(rtSession, more) {
    session = rtSession;
    logger = session.getLogger();
    logger.info('more: ' + more);
  },
  onProcessStarted: () => true,
  onStartGameSession() {
    loop = gameloop.setGameLoop(function (delta) {
      const players = session.getPlayers();
      if (players.size === 2 && frames < 3) {
        frames++;
        session.sendReliableGroupMessage(session.newTextGameMessage(FRAME, -1, frames), session.getAllPlayersGroupId());
      }
    }, 1000 / 30);
  },
  onPlayerConnect: () => true,
  onMessage(gameMessage) {
    const contents = gameMessage.contents;
    logger.info(util.format('contents: %s', contents));
    session.sendReliableMessage(session.newTextGameMessage(CONTENTS)); // nobody, and nothing
    session.sendReliableMessage(session.newTextGameMessage(CONTENTS, gameMessage.sender), gameMessage.sender, true, 'more');
  },
  onPlayerDisconnect() {
    gameloop.clearGameLoop(loop);
    session.processEnding().then(() => process.exit(0));
  },
  onHealthCheck: () => true,
};
