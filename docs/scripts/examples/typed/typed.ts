/// <reference path="../../troupe.d.ts" />

// A script in TypeScript: types are removed when it is loaded, nothing needs to be
// built. It uses everything that troupe.d.ts declares, to answer questions about
// itself: each op code is one question.

declare const process: { exit(code?: number): never };

enum Op {
  Echo = 1,
  Players,
  Game,
  Groups,
  Kick,
  Log,
  End,
  Match,
  Hello = 100,
  Back,
}

const configuration: Troupe.Configuration = { pingIntervalTime: 3000, maxPlayers: 8, reconnectWindow: 20 };

let session: Troupe.Session;
let logger: Troupe.Logger;
let args: string[] = [];
let game: Troupe.GameSession;
const names = new Map<number, string>();

function tell(opCode: Op, target: Troupe.Target, what: Troupe.Payload): void {
  session.sendReliableMessage(session.newTextGameMessage(opCode, session.getServerId(), what), target);
}

const answers: { [op: number]: (message: Troupe.GameMessage) => void } = {
  [Op.Echo](message) {
    const { opCode, opcode, sender, targetPlayer, targetGroup, reliable, payload } = message;
    logger.debug(message.toString(), opcode === opCode, targetPlayer, targetGroup, reliable);
    session.sendMessage(session.newBinaryGameMessage(opCode, sender, payload), sender);
    session.sendGroupMessage(message, session.getAllPlayersGroupId());
  },
  [Op.Players](message) {
    const list = Array.from(session.getPlayers(), ([id, p]: [number, Troupe.Player]) =>
      [id, p.peerId, p.playerId, p.playerData, p.playerSessionId !== '', names.get(id)]);
    tell(message.opCode, message.sender, JSON.stringify(list));
  },
  [Op.Game](message) {
    const same = session.gameSession === game && session.getGameSessionId() === game.GameSessionId;
    const { gameSessionId, name, fleetId, maximumPlayerSessionCount, port, ipAddress, dnsName, status } = game;
    const small = gameSessionId === game.GameSessionId && name === game.Name && fleetId === game.FleetId && status === game.Status &&
      maximumPlayerSessionCount === game.MaximumPlayerSessionCount && port === game.Port && ipAddress === game.IpAddress &&
      dnsName === game.DnsName && game.gameSessionData === game.GameSessionData && game.matchmakerData === game.MatchmakerData &&
      game.gameProperties.every((p: Troupe.GameProperty) => p.key === p.Key && p.value === p.Value);
    const address = [game.IpAddress, game.DnsName, game.Port].map((part) => typeof part);
    tell(message.opCode, message.sender, JSON.stringify({
      same, small, args, address, name: game.Name, fleet: game.FleetId, max: game.MaximumPlayerSessionCount,
      data: game.GameSessionData, matchmaker: game.MatchmakerData || session.matchmakerData, status: game.Status,
      keys: game.GameProperties.map(({ Key, Value }) => `${Key}=${Value}`), mode: session.gameProperties.mode,
    }));
  },
  [Op.Groups](message) {
    const group = Number(message.getPayloadAsText());
    session.broadcastGroupMembershipUpdate(group, session.getAllPlayersGroupId());
    session.sendReliableGroupMessage(session.newTextGameMessage(Op.Groups, message.sender, 'members'), group);
  },
  [Op.Kick](message) {
    session.kickPlayer(message.getPayloadAsText(), 'asked for');
  },
  [Op.Log](message) {
    const text = message.getPayloadAsText();
    logger.info(text);
    logger.warn(text);
    logger.error(text);
    logger.fatal(text);
    logger.cxfatal(text);
  },
  async [Op.End]() {
    const outcome: Troupe.Outcome = await session.processEnding();
    logger.info(`${outcome}`, outcome.Success, outcome.Error);
    process.exit(0);
  },
  [Op.Match](message) {
    session.startMatchBackfill();
    session.stopMatchBackfill();
    const teams = Array.from(session.matchedPlayers, ([playerId, { team, attributes }]) => `${playerId} ${team} ${Object.keys(attributes)}`);
    tell(message.opCode, message.sender, JSON.stringify(teams));
  },
};

export const ssExports: Troupe.Callbacks = {
  configuration,
  init(s) {
    session = s;
    logger = session.getLogger();
  },
  async onProcessStarted(given): Promise<Troupe.Answer> {
    args = given;
    return true;
  },
  onStartGameSession(gameSession) {
    game = gameSession;
  },
  onHealthCheck: async () => true,
  onProcessTerminate() {
    logger.info('terminate');
  },
  async onPlayerConnect(m: Troupe.ConnectMessage) {
    const name = String.fromCharCode(...m.payload);
    names.set(m.peerId, name);
    return m.player.peerId === m.peerId && name !== 'nobody';
  },
  onPlayerAccepted(player) {
    tell(Op.Hello, player, names.get(player.peerId));
  },
  onPlayerDisconnect(peerId) {
    names.delete(peerId);
  },
  onMessage(message) {
    answers[message.opCode]?.(message);
  },
  onSendToPlayer: (message) => message.payload.length > 0,
  onSendToGroup: (message) => message.targetGroup !== 9,
  onPlayerJoinGroup: (groupId, peerId) => groupId !== 9 || peerId === 1,
  onPlayerLeaveGroup: () => true,
  onPlayerDetached: (peerId, reason) => (names.get(peerId) === 'leaver' && reason !== '' ? 'release' : true),
  onPlayerReconnected(peerId, info: Troupe.Reconnected) {
    const { resent, lost, awayMs, takeover } = info;
    tell(Op.Back, peerId, JSON.stringify({ resent: resent >= 0, lost, away: awayMs >= 0, takeover }));
  },
  onUpdateGameSession(gameSession, updateReason, backfillTicketId) {
    const failed: Troupe.UpdateReason = 'BACKFILL_FAILED';
    if (updateReason === failed) logger.info('no players for', gameSession.Name, backfillTicketId);
  },
};
