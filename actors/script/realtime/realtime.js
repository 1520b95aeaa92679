'use strict';

// The Realtime script interface (realtime.md 15 to 18): what scripts see, and how
// their callbacks are called and judged. It runs in every engine as it is, so that
// all behave the same; it needs no more than ES2017 and the host below.
//
// create(host) returns the glue. The engine calls the glue, never the script. It runs
// this file under the name troupe:realtime, so that its frames can be told from the
// script's; the engine leaves them out of what is logged (OwnFrames).
//
// host, given by the engine; only format and send may throw:
//   logLevel               the threshold of the log: a number of LEVELS
//   log(level, text, file, row)   writes a line; without file: from where the script is now
//   format(args)           what util.format makes of an array of arguments
//   utf8(string)           a plain Uint8Array of its own memory
//   text(bytes)            the UTF-8 in a Uint8Array, as a string; '' if it is none
//   send(how, opCode, sender, payload, target)   how: 0 player, 1 player reliable,
//                          2 group, 3 group reliable; payload: a Uint8Array, valid during the call;
//                          throws if it only has the prototype of one
//   broadcastGroupMembershipUpdate(group, target)
//   kick(peerId, reason)
//   backfill(start)        starts, or with false stops, a backfill request for the game session
//   processEnding()        called once; may return a promise of when it is done
//   decided(token, ok)     what a promise came to, for answers that were undefined
//   failed(name)           optional: a callback threw, for counters
//   hint(message)          optional: what to add to the message of an error that is logged
//   later(prototype, make)  optional: calls make(name) when a property is missed that prototype
//                          does not have; make defines it, or returns the prototype's prototype
//   ticks                  optional: an object; afterCallback() is called right after each callback,
//                          before promise jobs, if its property waiting is true
//
// glue; where the host has later, functions of players and messages (those from
// onPlayerConnect, onPlayerAccepted on) are of the object that playing() makes; token is any value but undefined, handed back to host.decided:
//   session, logger        the objects for scripts
//   load(ssExports)        takes the object of callbacks; returns what is wrong with it, or ''
//   configuration()        { pingIntervalTime (ms), maxPlayers, reconnectWindow (s) }; undefined: the default
//   init()                 returns what went wrong, or ''
//   onProcessStarted(token, args), onHealthCheck(token),
//   onPlayerConnect(token, peerId, playerSessionId, playerId, playerData, payload)
//                          true, false, or undefined: host.decided tells later
//   onStartGameSession(game)   game: { GameSessionId, Name, FleetId, MaximumPlayerSessionCount, Port, IpAddress, DnsName,
//                          GameSessionData, MatchmakerData, Status, GameProperties: [{ Key, Value }] }; true or false
//   onProcessTerminate(token)   as onProcessStarted; whatever it returns is yes
//   onPlayerAccepted(peerId, playerSessionId, playerId, playerData)
//   onUpdateGameSession(matchmakerData, updateReason, backfillTicketId)
//   onPlayerDetached(peerId, reason)   true: hold, false: release
//   onPlayerReconnected(peerId, info)  info: { resent, lost, awayMs, takeover }
//   onPlayerDisconnect(peerId)
//   gone(peerId)           after an onPlayerDisconnect that did not return
//   onMessage(opCode, sender, targetPlayer, targetGroup, reliable, payload)
//   onSendToPlayer(...), onSendToGroup(...)   as onMessage; true or false
//   onPlayerJoinGroup(group, peerId), onPlayerLeaveGroup(group, peerId)   true or false
//   report(level, what, error)   logs an error with its stack
//   run(f)                 returns f()
// Payloads handed to the glue are plain Uint8Arrays that nobody else changes.

const LEVELS = { debug: 1, info: 2, warn: 3, error: 4, fatal: 5, cxfatal: 6 };
const FAST = 0, RELIABLE = 1, GROUP = 2;
const SERVER = -1, ALL_PLAYERS = -1;
const PAYLOAD_CUT = 65536 + 1; // the host refuses payloads over 65536 bytes, and says so
const STACK_MAX = 64 << 10, FRAME_MAX = 4 << 10; // characters that are taken apart of a stack, and of a line of it, which may be of any length
const PING_DEFAULT_MS = 3000, PLAYERS_DEFAULT = 32, RECONNECT_WINDOW_MAX = 600;
const OFTEN = ['getServerId', 'newTextGameMessage', 'newBinaryGameMessage', 'sendMessage', 'sendReliableMessage', 'sendReliableGroupMessage']; // found without a further step
const MISSING = {}, FAILED = {}; // results of a callback that no script can return

const getPrototypeOf = Object.getPrototypeOf, defineProperty = Object.defineProperty; // scripts may take them away

function hidden(object, name, value) {
  defineProperty(object, name, { __proto__: null, value: value, writable: true, configurable: true }); // scripts give Object.prototype a get
}

// isPromise looks at what a callback returned; any thenable counts, as with await.
function isPromise(value) {
  return value !== null && (typeof value === 'object' || typeof value === 'function') && typeof value.then === 'function';
}

exports.LEVELS = LEVELS;
exports.create = function create(host) {
  const ticks = host.ticks || { waiting: false };
  let callbacks = {};
  // Made when first needed, for games that wait: each built-in class costs 10 KiB.
  let players = null; // a Map of those accepted, in order
  let plain = null; // Uint8Array.prototype
  let ending = null;
  let rest = null; // what more made
  let game = null, matchmaker = ''; // matchmaker is the newest matchmaker data

  function warn(text) {
    if (LEVELS.warn >= host.logLevel) host.log(LEVELS.warn, text);
  }

  function print(args) {
    try {
      return host.format(args);
    } catch (error) { // of a getter or a proxy in it
      return '(cannot be printed)';
    }
  }

  // report logs an error with the script's own stack, as from where it happened.
  function report(level, what, error) {
    if (level < host.logLevel) return;
    // constructors counts the frames that constructors of classes have in an error's stack: V8 leaves them out, the embedded engine has
    // them without a name.
    function constructors(type) {
      let n = 0;
      for (let depth = 0; depth < 32 && typeof type === 'function'; depth++, type = getPrototypeOf(type)) {
        if (/^class[^]*?[^.\w$]constructor\s*\(/.test(Function.prototype.toString.call(type))) n++;
      }
      return n;
    }
    let stack, unnamed = 0;
    try {
      stack = error !== null && typeof error === 'object' ? error.stack : undefined;
      if (typeof stack === 'string' && stack.includes('\n\tat ')) unnamed = constructors(error.constructor);
    } catch (e) { /* a getter that throws: printed as any object */ }
    if (typeof stack !== 'string') {
      host.log(level, what + ': ' + print(['%O', error]));
      return;
    }
    if (stack.length > STACK_MAX) stack = stack.slice(0, STACK_MAX) + ' ...';
    // What the embedded engine writes as "\tat f (file:1:2(34))" becomes what Node writes.
    const lines = stack.split('\n').filter(line => line.trim() !== '').map(line => line.replace(/^\tat /, '    at ').replace(/\(\d+\)(\)?)$/, '$1'));
    const first = lines.findIndex(line => /^ *at /.test(line));
    while (unnamed-- > 0 && first >= 0 && /^ *at [^(]*$/.test(lines[first])) lines.splice(first, 1);
    let at = null;
    for (let i = 0; i < lines.length && at === null; i++) if (lines[i].length <= FRAME_MAX && /^ *at /.test(lines[i]) && !/node:|troupe:/.test(lines[i])) at = /([^\s()/\\]+):(\d+):\d+\)?$/.exec(lines[i]);
    if (host.hint && lines.length > 0) lines[0] += host.hint(lines[0]);
    const text = what + ': ' + lines.join('\n');
    if (at) host.log(level, text, at[1], Number(at[2]));
    else host.log(level, text);
  }

  function failed(name, error) {
    if (host.failed) host.failed(name);
    report(LEVELS.error, 'Error in ' + name, error);
  }

  // call looks a callback up and calls it as a method of ssExports, with count arguments.
  function call(name, count, a, b, c) {
    try {
      if (typeof callbacks[name] !== 'function') return MISSING;
      // Looked up again: a call of a method is cheaper than f.call.
      const result = count === 1 ? callbacks[name](a) : count === 2 ? callbacks[name](a, b) : count === 3 ? callbacks[name](a, b, c) : callbacks[name]();
      if (ticks.waiting) host.afterCallback();
      return result;
    } catch (error) {
      failed(name, error);
      if (ticks.waiting) host.afterCallback();
      return FAILED;
    }
  }

  // told judges a callback whose result does not matter: false if it threw. The
  // rejection of a promise is logged (D-116).
  function told(name, result) {
    if (result === undefined || result === MISSING) return true;
    if (result === FAILED) return false;
    try {
      if (isPromise(result)) result.then(undefined, error => failed(name, error));
    } catch (error) {
      failed(name, error);
    }
    return true;
  }

  // awaited judges a callback whose promise is waited for; if any is true, only when it
  // is over matters.
  function awaited(name, token, result, any) {
    if (result === true || result === MISSING) return true;
    if (result === FAILED || !result && !any) return false;
    try {
      if (!isPromise(result)) return true;
      result.then(value => host.decided(token, any === true || !!value), error => {
        failed(name, error);
        host.decided(token, any === true);
      });
      return undefined;
    } catch (error) {
      failed(name, error);
      return false;
    }
  }

  // In the embedded engine a function takes 0.7 KiB of each game that waits, and a
  // class some more. So there the methods of the logger and of Session, and what is
  // called of players and messages, are made when first needed.
  class Logger {}
  const logger = new Logger();
  const makeLevel = name => {
    if (typeof LEVELS[name] === 'number') hidden(Logger.prototype, name, function (...args) {
      if (LEVELS[name] >= host.logLevel) host.log(LEVELS[name], print(args));
    });
  };

  // Session is the object of realtime.md 16. Its methods do without this, because
  // scripts tear them off.
  class Session {
    getLogger() { return logger; }
  }
  const session = new Session();

  if (host.later) {
    host.later(Logger.prototype, makeLevel);
    host.later(Session.prototype, asked => { // in the middle of looking for it: that one stays where it is
      const methods = more().methods;
      for (let i = 0; i < OFTEN.length; i++) {
        if (OFTEN[i] !== asked && !(OFTEN[i] in Session.prototype)) hidden(Session.prototype, OFTEN[i], methods[OFTEN[i]]);
      }
      return methods;
    });
  } else {
    Object.keys(LEVELS).forEach(makeLevel);
    Object.setPrototypeOf(Session.prototype, more().methods);
  }

  function more() {
    if (rest !== null) return rest;

    // Conversions. None throws; what cannot be meant is warned of.

    function int32(value, what) {
      if (typeof value === 'number' && value === value) return value | 0;
      try {
        if (what === 'sender' && value !== null && typeof value === 'object') value = value.peerId;
        const number = Number(value);
        if (number === number && value !== undefined && value !== null) return number | 0;
      } catch (error) { /* a symbol, or an object that cannot be converted */ }
      warn('not a number as ' + what + ': ' + print([value]));
      return 0;
    }

    // id converts a target: a number, a numeric string, or something with a peerId (D-120).
    function id(value, method, what) {
      if (typeof value === 'number' && (value | 0) === value) return value;
      try {
        const plain = value !== null && typeof value === 'object' ? value.peerId : value;
        const number = typeof plain === 'string' && plain.trim() !== '' ? Number(plain) : plain;
        if (typeof number === 'number' && (number | 0) === number) return number;
      } catch (error) { /* a getter that throws */ }
      warn(method + ': not a ' + what + ': ' + print([value]));
      return undefined;
    }

    function bytes(value) {
      if (typeof value === 'string') return host.utf8(value);
      if (value === null || value === undefined) return new Uint8Array(0);
      try {
        if (plain === null) plain = Uint8Array.prototype;
        if (getPrototypeOf(value) === plain) return value; // or something that looks like one: host.send sees to that
        if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
        if (value instanceof ArrayBuffer) return new Uint8Array(value);
        if (Array.isArray(value)) return new Uint8Array(value.length > PAYLOAD_CUT ? value.slice(0, PAYLOAD_CUT) : value); // or it may be nearly empty
        return host.utf8(String(value));
      } catch (error) {
        warn('a payload that cannot be converted: ' + print([error]));
        return new Uint8Array(0);
      }
    }

    let messagePrototype = null;

    // GameMessage is a message to a script or from it (realtime.md 17). opcode is
    // another name for opCode.
    function makeMessages() {
      class GameMessage {
        get opcode() { return this.opCode; }
        set opcode(value) { this.opCode = value; }
        getPayloadAsText() { return host.text(bytes(this.payload)); }
        toString() {
          return 'GameMessage { opCode: ' + this.opCode + ', sender: ' + this.sender + ', targetPlayer: ' + this.targetPlayer +
            ', targetGroup: ' + this.targetGroup + ', reliable: ' + this.reliable + ', payload: ' + bytes(this.payload).length + ' bytes }';
        }
      }
      messagePrototype = GameMessage.prototype;
    }

    // gameMessage makes one: in the embedded engine a literal costs half of a constructor.
    function gameMessage(opCode, sender, targetPlayer, targetGroup, reliable, payload) {
      if (messagePrototype === null) makeMessages();
      return { __proto__: messagePrototype, opCode: opCode, sender: sender, targetPlayer: targetPlayer, targetGroup: targetGroup, reliable: reliable, payload: payload };
    }

    function send(method, how, what, message, target) {
      try {
        if (message === null || typeof message !== 'object' || messagePrototype === null || getPrototypeOf(message) !== messagePrototype) {
          warn(method + ': not a game message: ' + print([message]));
          return;
        }
        // Conversions are called only where there is something to convert: calls are dear.
        const to = typeof target === 'number' && (target | 0) === target ? target : id(target, method, what);
        if (to === undefined) return;
        const opCode = message.opCode, sender = message.sender;
        host.send(how, typeof opCode === 'number' && (opCode | 0) === opCode ? opCode : int32(opCode, 'opCode'), typeof sender === 'number' && (sender | 0) === sender ? sender : int32(sender, 'sender'),
          bytes(message.payload), to);
      } catch (error) { // of a getter or a proxy
        warn(method + ': the message cannot be read: ' + print([error]));
      }
    }

    class Methods {
      getPlayers() { return players === null ? new Map() : new Map(players); }
      getServerId() { return SERVER; }
      getAllPlayersGroupId() { return ALL_PLAYERS; }
      getGameSessionId() { return game ? game.GameSessionId : ''; }
      processEnding() {
        if (!ending) {
          const outcome = error => {
            const o = { Success: error === null, Error: error };
            hidden(o, 'toString', () => String(o.Success));
            return o;
          };
          ending = new Promise(resolve => resolve(host.processEnding())).then(() => outcome(null), error => outcome(String(error)));
        }
        return ending;
      }
      newTextGameMessage(opCode, sender, payload) {
        return gameMessage(typeof opCode === 'number' && (opCode | 0) === opCode ? opCode : int32(opCode, 'opCode'), typeof sender === 'number' && (sender | 0) === sender ? sender : int32(sender, 'sender'), 0, 0, true, bytes(payload));
      }
      newBinaryGameMessage(opCode, sender, payload) {
        return gameMessage(typeof opCode === 'number' && (opCode | 0) === opCode ? opCode : int32(opCode, 'opCode'), typeof sender === 'number' && (sender | 0) === sender ? sender : int32(sender, 'sender'), 0, 0, true, bytes(payload));
      }
      sendMessage(message, target) { send('sendMessage', FAST, 'player', message, target); }
      sendReliableMessage(message, target) { send('sendReliableMessage', RELIABLE, 'player', message, target); }
      sendGroupMessage(message, target) { send('sendGroupMessage', GROUP, 'group', message, target); }
      sendReliableGroupMessage(message, target) { send('sendReliableGroupMessage', GROUP + RELIABLE, 'group', message, target); }
      broadcastGroupMembershipUpdate(group, target) {
        const of = id(group, 'broadcastGroupMembershipUpdate', 'group'), to = id(target, 'broadcastGroupMembershipUpdate', 'group');
        if (of !== undefined && to !== undefined) host.broadcastGroupMembershipUpdate(of, to);
      }

      // Additions of Troupe.
      kickPlayer(peerId, reason) {
        const peer = id(peerId, 'kickPlayer', 'player');
        if (peer !== undefined) host.kick(peer, reason === undefined ? '' : print([reason]));
      }
      get gameProperties() {
        const properties = {};
        if (game) game.GameProperties.forEach(p => defineProperty(properties, p.Key, { __proto__: null, value: p.Value, enumerable: true, configurable: true, writable: true }));
        return properties;
      }
      get matchmakerData() { return matchmaker; }
      get gameSession() { return game; }
      // matchedPlayers is the team and the attributes of each player that a match has brought, by player id.
      get matchedPlayers() {
        const found = new Map();
        try {
          for (const team of JSON.parse(matchmaker).teams) for (const player of team.players) {
            const attributes = {};
            for (const name of Object.keys(player.attributes)) defineProperty(attributes, name, { __proto__: null, value: player.attributes[name].valueAttribute, enumerable: true, configurable: true, writable: true });
            found.set(player.playerId, { team: team.name, attributes: attributes });
          }
        } catch (error) { /* there is no matchmaker data */ }
        return found;
      }
      startMatchBackfill() { host.backfill(true); }
      stopMatchBackfill() { host.backfill(false); }
    }

    function playing() {
      class Player {}
      class ConnectMessage {}

      // gate judges a callback that decides at once: a promise is yes (D-116).
      function gate(name, result) {
        if (result === true || result === MISSING) return true;
        if (result === FAILED || !result) return false;
        told(name, result);
        return true;
      }

      function makePlayer(peerId, playerSessionId, playerId, playerData) {
        return { __proto__: Player.prototype, peerId: peerId, playerSessionId: playerSessionId, playerId: playerId, playerData: playerData };
      }

      return {
        onPlayerConnect(token, peerId, playerSessionId, playerId, playerData, payload) {
          const player = makePlayer(peerId, playerSessionId, playerId, playerData);
          const message = { __proto__: ConnectMessage.prototype, player: player, peerId: peerId, payload: payload };
          return awaited('onPlayerConnect', token, call('onPlayerConnect', 1, message));
        },
        onPlayerAccepted(peerId, playerSessionId, playerId, playerData) {
          const player = makePlayer(peerId, playerSessionId, playerId, playerData);
          if (players === null) players = new Map();
          players.set(peerId, player);
          told('onPlayerAccepted', call('onPlayerAccepted', 1, player));
        },
        onPlayerDetached(peerId, reason) {
          const result = call('onPlayerDetached', 2, peerId, reason);
          if (result === false || result === 'release') return false;
          told('onPlayerDetached', result);
          return true;
        },
        onUpdateGameSession(data, reason, ticketId) {
          matchmaker = data;
          try { hidden(game, 'matchmakerData', game.MatchmakerData = data); } catch (error) { /* the script has frozen it; the session object shows the data */ }
          told('onUpdateGameSession', call('onUpdateGameSession', 3, game, reason, ticketId));
        },
        onPlayerReconnected(peerId, info) { told('onPlayerReconnected', call('onPlayerReconnected', 2, peerId, info)); },
        onPlayerDisconnect(peerId) {
          told('onPlayerDisconnect', call('onPlayerDisconnect', 1, peerId));
          if (players !== null) players.delete(peerId);
        },
        gone(peerId) { if (players !== null) players.delete(peerId); },
        onMessage(opCode, sender, targetPlayer, targetGroup, reliable, payload) { told('onMessage', call('onMessage', 1, gameMessage(opCode, sender, targetPlayer, targetGroup, reliable, payload))); },
        onSendToPlayer(opCode, sender, targetPlayer, targetGroup, reliable, payload) {
          return gate('onSendToPlayer', call('onSendToPlayer', 1, gameMessage(opCode, sender, targetPlayer, targetGroup, reliable, payload)));
        },
        onSendToGroup(opCode, sender, targetPlayer, targetGroup, reliable, payload) {
          return gate('onSendToGroup', call('onSendToGroup', 1, gameMessage(opCode, sender, targetPlayer, targetGroup, reliable, payload)));
        },
        onPlayerJoinGroup(group, peerId) { return gate('onPlayerJoinGroup', call('onPlayerJoinGroup', 2, group, peerId)); },
        onPlayerLeaveGroup(group, peerId) { return gate('onPlayerLeaveGroup', call('onPlayerLeaveGroup', 2, group, peerId)); },
      };
    }

    rest = { methods: Methods.prototype, playing: playing };
    return rest;
  }

  function configuration() {
    const found = {};
    let given;
    const take = (name, from, to, without) => {
      try {
        const value = given[name];
        if (value === undefined) return;
        if (typeof value === 'number' && value >= from && value <= to) found[name] = value;
        else warn('configuration.' + name + ' is ' + print([value]) + '; ' + without + ' is used');
      } catch (error) {
        failed('configuration.' + name, error);
      }
    };
    try {
      given = callbacks.configuration;
    } catch (error) {
      failed('configuration', error);
    }
    if (given === undefined || given === null) return found;
    take('pingIntervalTime', Number.MIN_VALUE, 0x7fffffff, PING_DEFAULT_MS);
    take('maxPlayers', 1, 0x7fffffff, PLAYERS_DEFAULT);
    take('reconnectWindow', 0, RECONNECT_WINDOW_MAX, 'the default of the fleet');
    return found;
  }

  const glue = {
    session: session,
    logger: logger,
    report: report,
    run(f) { return f(); },
    configuration: configuration,
    load(ssExports) {
      if (ssExports === null || (typeof ssExports !== 'object' && typeof ssExports !== 'function')) {
        return 'the script does not export ssExports: end it with exports.ssExports = { init: init, ... }, in an ES module with export const ssExports = { ... }';
      }
      callbacks = ssExports;
      try { // onmessage, OnMessage and onPlayerJoin only look like callbacks
        for (let names = Object.keys(callbacks), i = 0, name; i < names.length; i++) {
          switch (name = names[i]) {
            case 'onProcessStarted': case 'onStartGameSession': case 'onHealthCheck': case 'onProcessTerminate': case 'onPlayerConnect': case 'onPlayerAccepted':
            case 'onPlayerDisconnect': case 'onMessage': case 'onSendToPlayer': case 'onSendToGroup': case 'onPlayerJoinGroup': case 'onPlayerLeaveGroup':
            case 'onPlayerDetached': case 'onPlayerReconnected': case 'onUpdateGameSession': continue;
          }
          if ((name > 'on' && name < 'oo' || name > 'On' && name < 'Oo') && typeof callbacks[name] === 'function') warn('ssExports.' + name + ' is never called: there is no such callback');
        }
      } catch (error) { /* what cannot be read is the script's own matter */ }
      try {
        return typeof callbacks.init === 'function' ? '' : 'ssExports has no function init, which is required';
      } catch (error) {
        return 'ssExports.init: ' + error;
      }
    },
    init() { return told('init', call('init', 1, session)) ? '' : 'init failed'; },

    onProcessStarted(token, args) { return awaited('onProcessStarted', token, call('onProcessStarted', 1, args)); },
    onHealthCheck(token) { return awaited('onHealthCheck', token, call('onHealthCheck', 0)); },
    // The game session for scripts also has the names with a lower-case first letter (D-124). They are written down: a method of a
    // text costs 4 KiB of a game that waits.
    onStartGameSession(from) {
      const names = [
        'GameSessionId', 'gameSessionId', 'Name', 'name', 'FleetId', 'fleetId', 'MaximumPlayerSessionCount', 'maximumPlayerSessionCount', 'Port', 'port', 'IpAddress', 'ipAddress',
        'DnsName', 'dnsName', 'GameSessionData', 'gameSessionData', 'MatchmakerData', 'matchmakerData', 'Status', 'status', 'GameProperties', 'gameProperties',
      ];
      class GameSession {}
      game = { __proto__: GameSession.prototype };
      matchmaker = from.MatchmakerData;
      const properties = [];
      for (let i = 0; i < from.GameProperties.length; i++) {
        const property = { Key: from.GameProperties[i].Key, Value: from.GameProperties[i].Value };
        hidden(property, 'key', property.Key);
        hidden(property, 'value', property.Value);
        properties.push(property);
      }
      for (let i = 0; i < names.length; i += 2) {
        const value = names[i] === 'GameProperties' ? properties : from[names[i]];
        game[names[i]] = value;
        hidden(game, names[i + 1], value);
      }
      return told('onStartGameSession', call('onStartGameSession', 1, game));
    },
    onProcessTerminate(token) { return awaited('onProcessTerminate', token, call('onProcessTerminate', 0), true); },
    // playing makes what is called of players and messages.
    playing: () => more().playing(),
  };
  if (!host.later) Object.assign(glue, glue.playing());
  return glue;
};
