/// <reference path="troupe.d.ts" />

// Catch the star. Each game session runs its own copy of this file. It decides everything: pages only say where their
// player wants to go. Save it while `troupe dev` runs: the next game session plays what you have saved. Types are
// removed when it is loaded; nothing needs to be built.

enum Op {
  go = 1, // page to server: a Place
  state = 2, // server to pages: see tick
}

interface Place {
  x: number
  y: number
}

interface Catcher extends Place {
  to: Place
  score: number
  away: boolean
}

const WIDTH = 640
const HEIGHT = 400
const STEP = 14 // how far a player moves in a tick
const REACH = 30 // how near a player must be to catch the star

let session: Troupe.Session
let star = somewhere()
const players = new Map<number, Catcher>() // by peer id

export const ssExports: Troupe.Callbacks = {
  configuration: { maxPlayers: 8 },

  init(s) {
    session = s
  },

  onStartGameSession() {
    setInterval(tick, 50)
  },

  onPlayerAccepted({ peerId }) {
    const at = somewhere()
    players.set(peerId, { ...at, to: at, score: 0, away: false })
    session.getLogger().info(`player ${peerId} is here`)
  },

  onMessage(message) {
    const player = players.get(message.sender)
    const to = message.opCode === Op.go ? read(message) : undefined
    if (player === undefined || to === undefined) return
    player.to = { x: Math.max(0, Math.min(WIDTH, to.x)), y: Math.max(0, Math.min(HEIGHT, to.y)) }
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

function tick(): void {
  if (players.size === 0) return
  for (const p of players.values()) {
    const way = Math.hypot(p.to.x - p.x, p.to.y - p.y)
    const part = way <= STEP ? 1 : STEP / way
    p.x += (p.to.x - p.x) * part
    p.y += (p.to.y - p.y) * part
    if (Math.hypot(star.x - p.x, star.y - p.y) < REACH) {
      p.score += 1
      star = somewhere()
    }
  }
  // Each message has the whole state. So it may get lost, and goes over the fast channel where there is one.
  const state = JSON.stringify({ star, players: Array.from(players, ([id, { x, y, score, away }]) => ({ id, x, y, score, away })) })
  session.sendGroupMessage(session.newTextGameMessage(Op.state, session.getServerId(), state), session.getAllPlayersGroupId())
}

// read returns undefined if the message is not a place: what players send may be anything.
function read(message: Troupe.GameMessage): Place | undefined {
  try {
    const { x, y } = JSON.parse(message.getPayloadAsText())
    return Number.isFinite(x) && Number.isFinite(y) ? { x, y } : undefined
  } catch {
    return undefined
  }
}

function somewhere(): Place {
  return { x: 40 + Math.random() * (WIDTH - 80), y: 40 + Math.random() * (HEIGHT - 80) }
}

function setAway(peerId: number, away: boolean): void {
  const player = players.get(peerId)
  if (player !== undefined) player.away = away
}
