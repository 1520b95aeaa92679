// Two players on a host of their own. Nothing needs to be installed but Node.js and troupe: the host serves the client.
import assert from 'node:assert/strict'
import test from 'node:test'
import { startHost } from './host.js'

const Op = { go: 1, state: 2 } // as in server/
const timeout = 60_000

test('a player sees another one move, and score', { timeout }, async t => {
  const { join, SERVER } = await startHost(t)
  const ann = await join('ann')
  const bob = await join('bob')

  // ann goes where the star is, as a person would.
  ann.on('message', m => {
    if (m.opCode === Op.state) ann.send({ opCode: Op.go, targetPlayer: SERVER, payload: JSON.stringify(JSON.parse(m.text).star) })
  })
  const places = new Set()
  await new Promise(resolve => bob.on('message', m => {
    const player = JSON.parse(m.text).players.find(p => p.id === ann.peerId)
    if (player === undefined) return
    places.add(`${player.x},${player.y}`)
    if (player.score > 0 && places.size > 1) resolve()
  }))
})

test('messages that say no place change nothing', { timeout }, async t => {
  const { join, SERVER } = await startHost(t)
  const ann = await join('ann')
  const go = payload => ann.send({ opCode: Op.go, targetPlayer: SERVER, payload })
  go('{"x": 0, "y": 0}')
  for (const payload of ['', 'no JSON', '[]', 'null', '{"x": "9"}', '{"x": 1e999, "y": 9}']) go(payload)
  const state = await new Promise(resolve => ann.on('message', m => {
    const state = JSON.parse(m.text)
    if (state.players[0].x === 0 && state.players[0].y === 0) resolve(state)
  }))
  assert.equal(state.players.length, 1)
})
