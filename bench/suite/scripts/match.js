'use strict';
// Ten ticks a second; each sends what has come since the last one to all players, as Nakama's example of a match does.
let session;
let waiting = [];

function tick() {
  const messages = waiting;
  waiting = [];
  for (const m of messages) {
    session.sendReliableGroupMessage(session.newBinaryGameMessage(m.opCode, m.sender, m.payload), session.getAllPlayersGroupId());
  }
}

exports.ssExports = {
  init: (s) => { session = s; },
  onProcessStarted: () => true,
  onStartGameSession: () => { setInterval(tick, 100); },
  onPlayerConnect: () => true,
  onMessage: (m) => { waiting.push(m); },
  onHealthCheck: () => true,
};
