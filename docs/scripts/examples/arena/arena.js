'use strict';

// An authoritative arena: players send their inputs, the server moves all
// players 20 times a second and sends snapshots over the fast channel.
//
// - The next tick applies the inputs that have arrived, so the result does not depend on
//   how many packets a player sends.
// - A tick is a fixed step. The loop makes up for late ticks, within
//   limits, so the game does not drift.
// - A snapshot may get lost or be overtaken: each is complete, and has the number
//   of its tick. It also says which input of each player it contains, so clients
//   can predict.

const { World } = require('./world');
const snapshot = require('./snapshot');
const { Ticker } = require('./ticker');

const OP_INPUT = 10; // player to server, fast: u16 number, i8 dx, i8 dy
const OP_SNAPSHOT = 11; // server to all, fast: see snapshot.js
const OP_WELCOME = 12; // server to player, reliable: {you, tickRate, width, height}

const TICK_RATE = 20; // Hz

const world = new World({ width: 100, height: 60, speed: 10, step: 1 / TICK_RATE });

let session;
let ticker;

exports.ssExports = {
  configuration: { maxPlayers: 32, pingIntervalTime: 3000 },

  init(rtSession) {
    session = rtSession;
  },

  // Start timers here: before this, there is no game session.
  onStartGameSession() {
    ticker = new Ticker(1000 / TICK_RATE, tick);
    ticker.start();
  },

  onPlayerAccepted(player) {
    world.add(player.peerId);
    welcome(player.peerId);
  },

  onMessage(gameMessage) {
    if (gameMessage.opCode === OP_INPUT) {
      const input = snapshot.readInput(gameMessage.payload);
      if (input) {
        world.input(gameMessage.sender, input);
      }
    }
  },

  onPlayerDetached(peerId) {
    world.release(peerId); // a player who cannot steer stands still, and is waited for
    return true;
  },

  // Its client may have restarted: it then counts its inputs from the start, and does not
  // know its own peer id.
  onPlayerReconnected(peerId) {
    world.release(peerId);
    welcome(peerId);
  },

  onPlayerDisconnect(peerId) {
    world.remove(peerId);
    if (world.size === 0) {
      ticker.stop();
      session.processEnding().then(() => process.exit(0));
    }
  },

  onProcessTerminate() {
    ticker.stop();
  },

  onSendToPlayer: () => false, // everything goes through the server
  onSendToGroup: () => false,
};

function welcome(peerId) {
  const text = JSON.stringify({ you: peerId, tickRate: TICK_RATE, width: world.width, height: world.height });
  session.sendReliableMessage(session.newTextGameMessage(OP_WELCOME, session.getServerId(), text), peerId);
}

function tick() {
  world.tick();
  if (world.size > 0) {
    const message = session.newBinaryGameMessage(OP_SNAPSHOT, session.getServerId(), snapshot.write(world));
    session.sendGroupMessage(message, session.getAllPlayersGroupId());
  }
}
