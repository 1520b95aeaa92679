"use strict";

// Style: the library for shared augmented spaces. A frozen table of functions by
// op code, binary payloads through newTextGameMessage, owners kept as keys and
// turned into numbers, payloads compared with "".

const OPS = Object.freeze({
  JOINED: 1,
  CLAIM: 10,
  RELEASE: 11,
  MOVE: 12,
  LIST: 13,
  CLAIMED: 20,
  MOVED: 21,
  OBJECTS: 22,
  NOTHING: 23,
});

class Space {
  constructor() {
    this.objects = new Map();
  }

  claim(id, owner = 0) {
    const current = this.objects.get(id);
    if (current === undefined || current.owner === 0) {
      this.objects.set(id, { owner, pose: null });
      return true;
    }
    return current.owner === owner;
  }

  byOwner() {
    const owners = {};
    for (const [id, { owner }] of this.objects) {
      owners[owner] = (owners[owner] || []).concat(id);
    }
    return owners;
  }
}

let session;
const space = new Space();

const functions = Object.freeze({
  [OPS.CLAIM]: (message) => {
    const id = message.getPayloadAsText();
    if (space.claim(id, message.sender)) {
      session.sendReliableGroupMessage(
        session.newTextGameMessage(OPS.CLAIMED, message.sender, id), session.getAllPlayersGroupId());
    }
  },
  [OPS.MOVE]: (message) => {
    if (message.payload == "" || message.payload === "") {
      session.sendReliableMessage(session.newTextGameMessage(OPS.NOTHING, session.getServerId(), ""), message.sender);
      return;
    }
    // Bytes, through the constructor for text.
    session.sendReliableGroupMessage(
      session.newTextGameMessage(OPS.MOVED, message.sender, message.payload), session.getAllPlayersGroupId());
  },
  [OPS.LIST]: () => {
    for (const [owner, ids] of Object.entries(space.byOwner())) {
      session.sendReliableMessage(
        session.newTextGameMessage(OPS.OBJECTS, session.getServerId(), ids.join(",")), Number(owner));
    }
  },
});

exports.ssExports = Object.freeze({
  configuration: { pingIntervalTime: 30000, maxPlayers: 10 },
  init: (rtSession) => { session = rtSession; },
  onProcessStarted: () => true,
  onPlayerConnect: () => true,
  onPlayerAccepted: (player) => {
    session.sendReliableMessage(
      session.newTextGameMessage(OPS.JOINED, session.getServerId(), `${Array.from(session.getPlayers().keys())}`), player.peerId);
  },
  onMessage: (message) => {
    const f = functions[message.opCode];
    if (f) {
      f(message);
    }
  },
  onPlayerDisconnect: () => {
    if (session.getPlayers().size <= 1) {
      session.processEnding().then(() => process.exit(0));
    }
  },
});
