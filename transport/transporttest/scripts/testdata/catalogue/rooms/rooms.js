// Style: the room server. Senders are keys of an object, so they are strings; a
// payload is kept and sent again to whoever comes later; ids are 1, 2, 3.

"use strict";

let session;
let members = {};
let lastWords = {};

const JOINED = 1;
const TALK = 2;
const HISTORY = 3;

exports.ssExports = {
  init: function (s) {
    session = s;
  },
  onPlayerAccepted: function (player) {
    members[player.peerId] = player.playerSessionId;
    for (let sender in lastWords) {
      // sender is a string here: "1", not 1
      session.sendReliableMessage(session.newBinaryGameMessage(HISTORY, sender, lastWords[sender]), player.peerId);
    }
    session.sendGroupMessage(session.newTextGameMessage(JOINED, player.peerId, String(Object.keys(members))), session.getAllPlayersGroupId());
  },
  onMessage: function (message) {
    lastWords[message.sender] = message.payload; // kept for later
    Object.keys(members).forEach(function (to) {
      session.sendReliableMessage(session.newBinaryGameMessage(TALK, message.sender, message.payload), to);
    });
  },
  onPlayerDisconnect: function (peerId) {
    delete members[peerId];
    if (Object.keys(members).length === 0) {
      session.processEnding().then(function () { process.exit(0); });
      return;
    }
    session.sendGroupMessage(session.newTextGameMessage(JOINED, -1, String(Object.keys(members))), session.getAllPlayersGroupId());
  }
};
