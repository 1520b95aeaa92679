// Numbers of the protocol: docs/spec/realtime.md 4 and 13, docs/spec/reliability.md 2.3.

/** The host itself, as a target or as a sender. */
export const SERVER = -1
/** The group of all players of the game session. */
export const ALL_PLAYERS = -1
/** Largest payload of a message, in bytes. */
export const PAYLOAD_MAX = 4096

/** Largest packet that is accepted from a host, in bytes. */
export const UNIT_MAX = 1 << 20
/** The version that all Realtime clients send. */
export const CLIENT_VERSION = 2
/** Capability: reliable packets are numbered and acknowledged in both directions. */
export const CAP_NUMBERS = 1
/** Capability: goes to another host of the cluster if the host says so (docs/spec/cluster.md 8). */
export const CAP_MOVES = 2
/** How many addresses of other hosts are read from the answer to a login. */
export const ALTERNATES_MAX = 3

export const Op = {
  login: 0,
  loginResponse: -1,
  ping: -2,
  pingResult: -3,
  udpConnect: -5,
  serverAck: -6,
  clientAck: -7,
  joinGroup: -10,
  leaveGroup: -11,
  requestMembership: -12,
  membershipUpdate: -13,
  verifyIdentity: -14,
  verifyIdentityResponse: -15,
  playerConnect: -101,
  playerDisconnect: -103,
  gameStart: -1000,
  gameEnd: -1001,
} as const

/** Inner messages of a packet, by field number. */
export const Command = {
  none: 0,
  login: 30,
  loginResult: 31,
  ping: 32,
  verifyIdentity: 37,
  joinGroup: 40,
  leaveGroup: 41,
  requestMembership: 42,
  membershipUpdate: 43,
} as const

/** Outcome of a login that began anew: the host knows nothing of the player's past. */
export const OUTCOME_NEW = 0

const reserved: ReadonlySet<number> = new Set([
  Op.loginResponse, Op.pingResult, Op.udpConnect, Op.serverAck, Op.clientAck, Op.joinGroup, Op.leaveGroup, Op.requestMembership,
  Op.membershipUpdate, Op.verifyIdentity, Op.verifyIdentityResponse, Op.playerConnect, Op.playerDisconnect, Op.gameStart, Op.gameEnd,
])

/** Reports whether an op code belongs to the protocol itself, so that no game may send it. */
export function isReserved(opCode: number): boolean {
  return reserved.has(opCode)
}

/** The refusal of a login to a game session that has ended. */
export const REFUSED_GAME_ENDED = 101

const refusals = new Map([
  [REFUSED_GAME_ENDED, 'the game session has ended'],
  [102, 'the game session is full'],
  [103, 'the game does not let the player in'],
  [104, 'the player session is over'],
  [105, 'the reconnect token is not valid any more'],
  [106, 'the player session is in use by another connection'],
])

/** The reason of a refused login in words; empty for one that the host does not tell. */
export function refusal(outcome: number): string {
  return refusals.get(outcome) ?? ''
}

const overs = new Map([
  [1, 'the host of the game session was lost'],
  [2, 'the game session has ended'],
  [3, 'no host knows the player session (any more)'],
])

/** Why the game session of a refused login is over, in words; empty for 0. */
export function overText(over: number): string {
  return over === 0 ? '' : overs.get(over) ?? 'the game session is over'
}

/** What to do after the end of a connection: log in again now, log in again later, or not at all. */
export type Retry = 'resume' | 'later' | 'never'

/** Close codes of a host (messages/close.go). Any other one is followed by a resume. */
export const Close = {
  normal: 1000,
  goingAway: 1001,
  takenOver: 4001,
  malformed: 4003,
  gameEnded: 4005,
  kicked: 4006,
  outOfOrder: 4008,
  tooFast: 4010,
  tryLater: 4011,
  gameCrashed: 4013,
} as const

const never: ReadonlySet<number> = new Set([Close.normal, Close.takenOver, Close.malformed, Close.gameEnded, Close.kicked, Close.gameCrashed])
const later: ReadonlySet<number> = new Set([Close.goingAway, Close.tooFast, Close.tryLater])

/** What a client should do after a close code of the host. */
export function retryOf(code: number): Retry {
  return never.has(code) ? 'never' : later.has(code) ? 'later' : 'resume'
}

/**
 * Close code of a connection that the client drops. A WebSocket of a browser cannot end without a close frame;
 * a host takes every code but 1000 for a loss, and keeps the player's seat.
 */
export const CLOSE_DROPPED = 4900
