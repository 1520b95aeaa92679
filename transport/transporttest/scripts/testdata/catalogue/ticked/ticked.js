// Style: the ticked server. It ends by calling processEnding on the wrong object:
// the error is an unhandled rejection, of which a 10.x script survives.

let session;
let logger;
let played = false;
let players = 0;

const JOINED = 1;

exports.ssExports = {
  configuration: { maxPlayers: 8 },
  init(s) {
    session = s;
    logger = s.getLogger();
  },
  onStartGameSession() {
    setTimeout(tick, 100);
  },
  onPlayerAccepted(player) {
    played = true;
    players++;
    session.sendReliableGroupMessage(session.newTextGameMessage(JOINED, -1, `${player.peerId}`), -1);
  },
  onPlayerDisconnect(peerId) {
    players--;
    logger.info("left: " + peerId);
  },
  onHealthCheck: () => true,
};

async function tick() {
  if (played && players === 0) {
    logger.info("stopping");
    await exports.ssExports.processEnding(); // there is no such thing
    process.exit(0);
  }
  setTimeout(tick, 100);
}
