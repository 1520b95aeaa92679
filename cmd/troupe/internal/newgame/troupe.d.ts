// Types of Realtime scripts, for editors. In a script folder, without anything to
// install:
//
//   /// <reference path="troupe.d.ts" />
//   /** @type {Troupe.Callbacks} */
//   exports.ssExports = { init(session) { ... } };
//
// Members marked "Troupe" are additions. The original does not have them, and
// ignores them in a script.

declare namespace Troupe {
  /**
   * The callbacks of a script, exported as `ssExports`. Only `init` is required. They are looked up when they are
   * called, as methods of the object; they and the script's timers never overlap. The host logs what they throw.
   *
   * A promise is waited for in `onProcessStarted`, `onPlayerConnect` and `onHealthCheck`, for 10 s; one that is not
   * resolved by then counts as a no. From all others it counts as true, and its rejection is logged.
   */
  interface Callbacks {
    /** Read once, after loading and before `init`. */
    configuration?: Configuration;
    /** Hands over the session object. Throwing ends the start. */
    init(session: Session): unknown;
    /** True: ready. `args` are the launch parameters, split at white space. */
    onProcessStarted?(args: string[]): Answer | Promise<Answer>;
    /** The game session exists. Throwing keeps it from being activated. Start timers here. */
    onStartGameSession?(gameSession: GameSession): unknown;
    /** Called every 60 s. The third result in a row that is not true ends the game session. */
    onHealthCheck?(): Answer | Promise<Answer>;
    /**
     * The host ends the process. Players are still connected, and messages sent here reach them. The host waits for a
     * promise for up to five minutes.
     */
    onProcessTerminate?(): unknown;
    /** True lets the player in. */
    onPlayerConnect?(connectMessage: ConnectMessage): Answer | Promise<Answer>;
    /** The player is in: `getPlayers` has it, and it can receive. */
    onPlayerAccepted?(player: Player): unknown;
    /** The player is out for good. `getPlayers` still has it. */
    onPlayerDisconnect?(peerId: number): unknown;
    /** A message to the server. */
    onMessage?(message: GameMessage): unknown;
    /** True delivers a player's message to another player. Edits of the message change nothing. */
    onSendToPlayer?(message: GameMessage): Answer;
    /** True delivers a player's message to a group. */
    onSendToGroup?(message: GameMessage): Answer;
    /** True lets the player join. */
    onPlayerJoinGroup?(groupId: number, peerId: number): Answer;
    /** True lets the player leave. */
    onPlayerLeaveGroup?(groupId: number, peerId: number): Answer;

    /**
     * Troupe: the connection of a player is lost. False, or "release", lets the player go at once; anything else waits
     * for it as long as the reconnect window lasts. The reason is "connection_lost"; why the host closed the connection,
     * such as "ping_timeout"; or "client_closed_1001" with the client's own close code (1001: a browser's tab was closed).
     */
    onPlayerDetached?(peerId: number, reason: string): Answer | 'release';
    /** Troupe: a player is back, with the same peer id and groups, and has been sent what it missed. */
    onPlayerReconnected?(peerId: number, info: Reconnected): unknown;
    /** Troupe: what became of a backfill request. With MATCHMAKING_DATA_UPDATED the matchmaker data has new players. */
    onUpdateGameSession?(gameSession: GameSession, updateReason: UpdateReason, backfillTicketId: string): unknown;
  }

  type UpdateReason = 'MATCHMAKING_DATA_UPDATED' | 'BACKFILL_FAILED' | 'BACKFILL_TIMED_OUT' | 'BACKFILL_CANCELLED';

  /** Judged as JavaScript judges conditions: `undefined` is a no. */
  type Answer = boolean | number | string | object | null | undefined | void;

  interface Configuration {
    /** Milliseconds between pings; default 3000. A player that misses two is lost. */
    pingIntervalTime?: number;
    /** Default 32. The game session's own maximum holds as well. */
    maxPlayers?: number;
    /** Troupe: how long a lost player is waited for, in seconds from 0 to 600; the default is the fleet's. */
    reconnectWindow?: number;
  }

  /** What a script may do. Nothing here throws: a call that makes no sense is logged and has no effect. */
  interface Session {
    /** The accepted players by peer id, in order of acceptance: a copy. */
    getPlayers(): Map<number, Player>;
    /** -1: as a sender or target, the server. */
    getServerId(): number;
    /** -1: as a target group, everybody. */
    getAllPlayersGroupId(): number;
    /** Empty before `onStartGameSession`. */
    getGameSessionId(): string;
    /** Always the same object. */
    getLogger(): Logger;
    /**
     * Ends the game session: no more logins. Call `process.exit(0)` when it resolves; otherwise the host ends the game
     * session 10 s later.
     */
    processEnding(): Promise<Outcome>;

    /** A string is sent as UTF-8. Bytes stay as they are, in both functions. */
    newTextGameMessage(opCode: number, sender: number, payload: Payload): GameMessage;
    newBinaryGameMessage(opCode: number, sender: number, payload: Payload): GameMessage;
    /** Over the fast channel: it may get lost or be overtaken. Over the reliable channel while the fast one is not up. */
    sendMessage(message: GameMessage, targetPlayer: Target): void;
    /** Over the reliable channel, in order. */
    sendReliableMessage(message: GameMessage, targetPlayer: Target): void;
    /** To each member of a group, over the fast channel. The server need not be in it. */
    sendGroupMessage(message: GameMessage, targetGroup: Target): void;
    /** To each member of a group, over the reliable channel. */
    sendReliableGroupMessage(message: GameMessage, targetGroup: Target): void;
    /** Tells all members of `targetGroupId` who is in `groupId`. */
    broadcastGroupMembershipUpdate(groupId: Target, targetGroupId: Target): void;

    /** Troupe: removes a player. `onPlayerDisconnect` follows. */
    kickPlayer(peerId: Target, reason?: string): void;
    /** Troupe: the game properties by key; empty before `onStartGameSession`. */
    readonly gameProperties: { [key: string]: string };
    /** Troupe: the matchmaker data, as JSON; empty without a matchmaker. */
    readonly matchmakerData: string;
    /** Troupe: what `onStartGameSession` got; null before. */
    readonly gameSession: GameSession | null;
    /** Troupe: the players that matches have brought, by player id: a copy. Empty without a matchmaker. */
    readonly matchedPlayers: Map<string, { team: string; attributes: { [name: string]: string | number | string[] | { [key: string]: number } } }>;
    /** Troupe: asks matchmaking for more players. `onUpdateGameSession` tells what becomes of it. */
    startMatchBackfill(): void;
    /** Troupe: ends the backfill request under way, and automatic backfill. */
    stopMatchBackfill(): void;
  }

  /** A peer id or group id, as a number or as text. An object with a `peerId` stands for that peer. */
  type Target = number | string | { peerId: number };

  /** `null` and `undefined` are sent as nothing, numbers and the rest as their text: use JSON.stringify for objects. */
  type Payload = string | Uint8Array | ArrayBuffer | ArrayBufferView | number[] | number | boolean | null | undefined;

  interface Player {
    readonly peerId: number;
    readonly playerSessionId: string;
    /** Troupe: the PlayerId of the player session. */
    readonly playerId: string;
    /** Troupe: the PlayerData of the player session. */
    readonly playerData: string;
  }

  interface ConnectMessage {
    readonly player: Player;
    readonly peerId: number;
    /** The client's connection payload; empty if there is none. */
    readonly payload: Uint8Array;
  }

  interface GameMessage {
    opCode: number;
    /** The same as `opCode`. */
    opcode: number;
    /** The true sender, whatever the client claims. */
    sender: number;
    targetPlayer: number;
    targetGroup: number;
    /** Whether it came over the reliable channel. */
    reliable: boolean;
    /** A plain Uint8Array of its own: it may be kept. */
    payload: Uint8Array;
    /** The payload as UTF-8. */
    getPayloadAsText(): string;
    toString(): string;
  }

  /** Each field has two names. Those with a small letter are left out when the object is printed. */
  interface GameSession {
    readonly GameSessionId: string;
    readonly gameSessionId: string;
    readonly Name: string;
    readonly name: string;
    readonly FleetId: string;
    readonly fleetId: string;
    readonly MaximumPlayerSessionCount: number;
    readonly maximumPlayerSessionCount: number;
    readonly Port: number;
    readonly port: number;
    readonly IpAddress: string;
    readonly ipAddress: string;
    readonly DnsName: string;
    readonly dnsName: string;
    readonly GameSessionData: string;
    readonly gameSessionData: string;
    readonly MatchmakerData: string;
    readonly matchmakerData: string;
    readonly Status: string;
    readonly status: string;
    readonly GameProperties: ReadonlyArray<GameProperty>;
    readonly gameProperties: ReadonlyArray<GameProperty>;
  }

  interface GameProperty {
    readonly Key: string;
    readonly key: string;
    readonly Value: string;
    readonly value: string;
  }

  interface Outcome {
    readonly Success: boolean;
    readonly Error: string | null;
    /** "true" or "false". */
    toString(): string;
  }

  /** Troupe: how a player came back. */
  interface Reconnected {
    /** Messages that were sent again. */
    readonly resent: number;
    /** Messages dropped because they were more than the host keeps for a player. */
    readonly lost: number;
    /** Milliseconds since the loss; 0 if the connection was replaced before it was lost. */
    readonly awayMs: number;
    /** The connection was replaced: `onPlayerDetached` has not come. */
    readonly takeover: boolean;
  }

  /**
   * The game session's log. Objects are printed as `util.inspect` does. `loggingLevel:LEVEL` in the launch parameters
   * is the threshold; default info. No level ends anything.
   */
  interface Logger {
    debug(...what: unknown[]): void;
    info(...what: unknown[]): void;
    warn(...what: unknown[]): void;
    error(...what: unknown[]): void;
    fatal(...what: unknown[]): void;
    cxfatal(...what: unknown[]): void;
  }
}
