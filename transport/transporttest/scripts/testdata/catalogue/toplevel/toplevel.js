// Style: the security sample, as far as it is harmless. Code at the top level runs
// when the file is loaded: it looks at its own folder and its surroundings.

const fs = require('fs');
const path = require('path');

const lines = [];
lines.push('file ' + path.basename(__filename));
lines.push('files ' + fs.readdirSync(__dirname).sort().join(' '));
lines.push('read ' + JSON.parse(fs.readFileSync(path.join(__dirname, 'words.json'), 'utf8')).join(' '));
lines.push('missing ' + fs.existsSync(path.join(__dirname, 'nothing')));
lines.push('argv ' + Array.isArray(process.argv) + ', pid ' + typeof process.pid + ', version ' + typeof process.version);
const timer = new Promise((resolve) => setTimeout(() => resolve('timer'), 1));

let session;

exports.ssExports = {
  init: (rtSession) => {
    session = rtSession;
    lines.forEach((line) => session.getLogger().info(line));
  },
  onPlayerAccepted: (player) => {
    lines.forEach((line, i) => {
      session.sendReliableMessage(session.newTextGameMessage(100 + i, -1, line), player.peerId);
    });
  },
  onMessage: async (gameMessage) => {
    session.sendReliableMessage(session.newTextGameMessage(gameMessage.opCode, -1, await timer), gameMessage.sender);
  },
  onPlayerDisconnect: () => {
    if (session.getPlayers().size === 1) {
      session.processEnding().then(() => process.exit(0));
    }
  },
};
