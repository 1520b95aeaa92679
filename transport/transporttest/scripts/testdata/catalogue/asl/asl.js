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
  ANCHOR_ADD: 40,
  ANCHOR_MOVE: 41,
  ANCHOR_DROP: 42,
  ANCHOR_SHARE: 43,
  ANCHOR_FOUND: 44,
  OBJECT_SCALE: 45,
  OBJECT_COLOR: 46,
  OBJECT_HIDE: 47,
  OBJECT_SHOW: 48,
  OBJECT_LOCK: 49,
  OBJECT_UNLOCK: 50,
  OBJECT_COPY: 51,
  OBJECT_ERASE: 52,
  PEN_DOWN: 53,
  PEN_MOVE: 54,
  PEN_UP: 55,
  PEN_UNDO: 56,
  PEN_CLEAR: 57,
  NOTE_ADD: 58,
  NOTE_EDIT: 59,
  NOTE_DROP: 60,
  POINTER_ON: 61,
  POINTER_MOVE: 62,
  POINTER_OFF: 63,
  HEAD_POSE: 64,
  HAND_POSE: 65,
  VOICE_ON: 66,
  VOICE_OFF: 67,
  WORLD_PAUSE: 68,
  WORLD_RESUME: 69,
  WORLD_RESET: 70,
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

// What needs no rule goes to everybody as it came.
const passOn = (message) => {
  session.sendReliableGroupMessage(
    session.newBinaryGameMessage(message.opCode, message.sender, message.payload), session.getAllPlayersGroupId());
};

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
  ...Object.fromEntries(Object.values(OPS).filter((op) => op >= OPS.ANCHOR_ADD).map((op) => [op, passOn])),
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
