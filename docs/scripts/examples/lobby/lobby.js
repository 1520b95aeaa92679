'use strict';

// A lobby: players pick a team and say when they are ready; the game starts when
// all are. A team is a group: players join and leave it with the client's own
// calls, and messages to it reach that team only.
//
// Game properties, set when the game session is created, configure the game:
//   map        a name for the clients; default "plains"
//   teamSize   players per team; default 2

const { Teams } = require('./teams');

const OP_READY = 20; // player to server: "1" or "0"
const OP_KICK = 21; // the owner to server: a peer id
const OP_LOBBY = 22; // server to all: {owner, map, teamSize, players: [{id, name, team, ready}]}
const OP_START = 23; // server to all: {map, teams: {"1": [ids], "2": [ids]}}
const OP_REFUSED = 24; // server to player: why something was not done

const TEAMS = [1, 2]; // group ids

let session;
let logger;
let teams;
let map = 'plains';
let started = false;

exports.ssExports = {
  configuration: { maxPlayers: 16 },

  init(rtSession) {
    session = rtSession;
    logger = session.getLogger();
  },

  onStartGameSession(gameSession) {
    const properties = {};
    for (const { Key, Value } of gameSession.GameProperties) {
      properties[Key] = Value;
    }
    map = properties.map || map;
    teams = new Teams(TEAMS, Number(properties.teamSize) || 2);
    logger.info(`lobby for ${map}, ${teams.size} players per team`);
  },

  onPlayerConnect() {
    return !started;
  },

  onPlayerAccepted(player) {
    // playerId is Troupe's own; the original hides it.
    teams.add(player.peerId, player.playerId || `player ${player.peerId}`);
    tellLobby();
  },

  onPlayerJoinGroup(groupId, peerId) {
    const problem = started ? 'the game has started' : teams.join(peerId, groupId);
    return answer(peerId, problem);
  },

  onPlayerLeaveGroup(groupId, peerId) {
    const problem = started ? 'the game has started' : teams.leave(peerId, groupId);
    return answer(peerId, problem);
  },

  onMessage(gameMessage) {
    const text = gameMessage.getPayloadAsText();
    switch (gameMessage.opCode) {
      case OP_READY:
        onReady(gameMessage.sender, text === '1');
        break;
      case OP_KICK:
        onKick(gameMessage.sender, Number(text));
        break;
      default:
        logger.warn(`player ${gameMessage.sender} sent op code ${gameMessage.opCode}`);
    }
  },

  onPlayerDisconnect(peerId) {
    teams.remove(peerId);
    if (teams.players.size === 0) {
      session.processEnding().then(() => process.exit(0));
    } else if (!started) {
      tellLobby(peerId);
      startWhenReady(peerId); // perhaps all others are ready
    }
  },

  onSendToPlayer: () => true,
  onSendToGroup: () => true,
};

function onReady(peerId, ready) {
  const problem = started ? 'the game has started' : teams.setReady(peerId, ready);
  if (answer(peerId, problem)) {
    startWhenReady();
  }
}

function startWhenReady(except) {
  if (teams.allReady()) {
    started = true;
    tellAll(OP_START, { map, teams: teams.rosters() }, except);
  }
}

function onKick(sender, peerId) {
  if (sender !== teams.owner || !teams.players.has(peerId)) {
    answer(sender, 'only the owner may remove a player');
    return;
  }
  session.kickPlayer(peerId, 'removed by the owner'); // Troupe's own; onPlayerDisconnect follows
}

// answer shows the lobby as it is now to all, or a problem to one.
function answer(peerId, problem) {
  if (problem) {
    session.sendReliableMessage(session.newTextGameMessage(OP_REFUSED, session.getServerId(), problem), peerId);
    return false;
  }
  tellLobby();
  return true;
}

function tellLobby(except) {
  tellAll(OP_LOBBY, { owner: teams.owner, map, teamSize: teams.size, players: teams.list() }, except);
}

function tellAll(opCode, what, except) {
  const message = session.newTextGameMessage(opCode, session.getServerId(), JSON.stringify(what));
  for (const peerId of session.getPlayers().keys()) {
    if (peerId !== except) {
      session.sendReliableMessage(message, peerId);
    }
  }
}
