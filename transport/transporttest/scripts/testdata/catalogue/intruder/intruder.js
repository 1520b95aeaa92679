// Style: the security sample. What is in reach of a script: for engine node only.

const { execSync } = require('child_process');
const fs = require('fs');
const os = require('os');

const found = execSync('echo reached').toString().trim() + ' ' + typeof os.hostname() + ' ' + fs.existsSync('/');

let session;

exports.ssExports = {
  init: (rtSession) => { session = rtSession; },
  onPlayerAccepted: (player) => {
    session.sendReliableMessage(session.newTextGameMessage(1, -1, found), player.peerId);
  },
  onPlayerDisconnect: () => {
    if (session.getPlayers().size === 1) {
      session.processEnding().then(() => process.exit(0));
    }
  },
};
