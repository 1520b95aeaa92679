'use strict';

// Two players take turns. If one loses its connection, the host waits for it
// (the "reconnect window"), and a player that comes back gets the board again.

const board = require('./board');

const OP_MOVE = 1; // player to server: the cell, "0" to "8"
const OP_STATE = 2; // server to player: {cells, turn, you, over, winner, waitingFor}
const OP_REFUSED = 3; // server to player: why a move does not count

const game = {
  cells: board.empty(),
  marks: new Map(), // peer id -> 'X' or 'O'
  turn: 'X',
  winner: null, // 'X', 'O' or 'draw' once it is over
  away: new Set(), // peer ids whose connection is lost
};

let session;
let logger;

exports.ssExports = {
  configuration: { maxPlayers: 2 },

  init(rtSession) {
    session = rtSession;
    logger = session.getLogger();
  },

  onPlayerConnect() {
    return game.winner === null && game.marks.size < 2;
  },

  onPlayerAccepted(player) {
    const taken = Array.from(game.marks.values());
    game.marks.set(player.peerId, taken.includes('X') ? 'O' : 'X');
    tellAll();
  },

  onMessage(gameMessage) {
    if (gameMessage.opCode !== OP_MOVE) {
      return;
    }
    const problem = play(gameMessage.sender, gameMessage.getPayloadAsText());
    if (problem) {
      send(OP_REFUSED, gameMessage.sender, problem);
      return;
    }
    tellAll();
  },

  // Troupe's own: a connection is lost. false lets the player go at once, anything
  // else waits for it as long as the reconnect window lasts. There is nothing to
  // wait for in a game that is over.
  onPlayerDetached(peerId, reason) {
    logger.info(`player ${peerId} lost its connection: ${reason}`);
    if (game.winner !== null) {
      return false;
    }
    game.away.add(peerId);
    tellAll();
    return true;
  },

  // Troupe's own: the player is back, with the same peer id. The host has already
  // sent what it missed; the board is for a client that was restarted.
  onPlayerReconnected(peerId, info) {
    logger.info(`player ${peerId} is back, ${info.resent} messages were sent again`);
    game.away.delete(peerId);
    tellAll();
  },

  // The player is out for good: it left, or the window is over.
  onPlayerDisconnect(peerId) {
    const mark = game.marks.get(peerId);
    game.marks.delete(peerId);
    game.away.delete(peerId);
    if (game.marks.size === 0) {
      session.processEnding().then(() => process.exit(0));
      return;
    }
    if (game.winner === null) {
      game.winner = mark === 'X' ? 'O' : 'X';
    }
    tellAll();
  },

  // Players may not send each other messages, only moves to the server.
  onSendToPlayer: () => false,
  onSendToGroup: () => false,
  onPlayerJoinGroup: () => false,
};

// play makes a move, and returns the problem if the move is not allowed.
function play(peerId, text) {
  const cell = /^[0-8]$/.test(text) ? Number(text) : -1; // Number('') would be 0
  const mark = game.marks.get(peerId);
  if (game.winner !== null) {
    return 'the game is over';
  }
  if (game.marks.size < 2) {
    return 'wait for the other player';
  }
  if (mark !== game.turn) {
    return 'it is not your turn';
  }
  if (!board.isFree(game.cells, cell)) {
    return 'there is no such free cell';
  }
  game.cells[cell] = mark;
  game.winner = board.winner(game.cells);
  game.turn = mark === 'X' ? 'O' : 'X';
  return null;
}

function tellAll() {
  for (const [peerId, mark] of game.marks) {
    send(OP_STATE, peerId, JSON.stringify({
      cells: game.cells.join(''),
      turn: game.turn,
      you: mark,
      over: game.winner !== null,
      winner: game.winner,
      waitingFor: Array.from(game.away),
    }));
  }
}

function send(opCode, peerId, text) {
  session.sendReliableMessage(session.newTextGameMessage(opCode, session.getServerId(), text), peerId);
}
