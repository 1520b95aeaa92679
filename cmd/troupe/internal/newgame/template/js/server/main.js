// @ts-check
/// <reference path="troupe.d.ts" />
'use strict'

// Catch the star. Each game session runs its own copy of this file. It decides everything: pages only say where their
// player wants to go. Save it while `troupe dev` runs: the next game session plays what you have saved.

const Op = { go: 1, state: 2 } // go: page to server, {x, y}; state: server to pages, see tick
const WIDTH = 640
const HEIGHT = 400
const STEP = 14 // how far a player moves in a tick
const REACH = 30 // how near a player must be to catch the star

/** @typedef {{ x: number, y: number, toX: number, toY: number, score: number, away: boolean }} Catcher */

/** @type {Troupe.Session} */
let session
/** @type {Map<number, Catcher>} */
const players = new Map() // by peer id
let star = somewhere()

/** @type {Troupe.Callbacks} */
exports.ssExports = {
  configuration: { maxPlayers: 8 },

  init(s) {
    session = s
  },

  onStartGameSession() {
    setInterval(tick, 50)
  },

  onPlayerAccepted({ peerId }) {
    const { x, y } = somewhere()
    players.set(peerId, { x, y, toX: x, toY: y, score: 0, away: false })
    session.getLogger().info(`player ${peerId} is here`)
  },

  onMessage(message) {
    const player = players.get(message.sender)
    const to = message.opCode === Op.go ? read(message) : undefined
    if (player === undefined || to === undefined) return
    player.toX = Math.max(0, Math.min(WIDTH, to.x))
    player.toY = Math.max(0, Math.min(HEIGHT, to.y))
  },

  // A player that loses its network keeps its seat and its score for 30 s.
  onPlayerDetached(peerId) {
    setAway(peerId, true)
    return true
  },

  onPlayerReconnected(peerId) {
    setAway(peerId, false)
  },

  onPlayerDisconnect(peerId) {
    players.delete(peerId)
  },

  // Everything goes through the server: players send each other nothing.
  onSendToPlayer: () => false,
  onSendToGroup: () => false,
}

function tick() {
  if (players.size === 0) return
  for (const p of players.values()) {
    const way = Math.hypot(p.toX - p.x, p.toY - p.y)
    const part = way <= STEP ? 1 : STEP / way
    p.x += (p.toX - p.x) * part
    p.y += (p.toY - p.y) * part
    if (Math.hypot(star.x - p.x, star.y - p.y) < REACH) {
      p.score += 1
      star = somewhere()
    }
  }
  // Each message has the whole state. So it may get lost, and goes over the fast channel where there is one.
  const state = JSON.stringify({ star, players: Array.from(players, ([id, { x, y, score, away }]) => ({ id, x, y, score, away })) })
  session.sendGroupMessage(session.newTextGameMessage(Op.state, session.getServerId(), state), session.getAllPlayersGroupId())
}

/**
 * What players send may be anything.
 * @param {Troupe.GameMessage} message
 * @returns {{ x: number, y: number } | undefined}
 */
function read(message) {
  try {
    const { x, y } = JSON.parse(message.getPayloadAsText())
    return Number.isFinite(x) && Number.isFinite(y) ? { x, y } : undefined
  } catch {
    return undefined
  }
}

function somewhere() {
  return { x: 40 + Math.random() * (WIDTH - 80), y: 40 + Math.random() * (HEIGHT - 80) }
}

/**
 * @param {number} peerId
 * @param {boolean} away
 */
function setAway(peerId, away) {
  const player = players.get(peerId)
  if (player !== undefined) player.away = away
}
