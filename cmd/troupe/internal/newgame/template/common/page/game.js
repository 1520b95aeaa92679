// The player's side: it shows what the server says, and tells the server where its player wants to go.
import { connect, SERVER } from '/client.js' // each host serves it

const Op = { go: 1, state: 2 } // as in server/
const WIDTH = 640
const HEIGHT = 400

const $ = (selector) => document.querySelector(selector)
const field = $('#field')
const shown = new Map() // peer id -> its element
let back = '' // how the last loss of the connection ended

// `troupe dev` hands out seats to pages of this machine. Elsewhere your backend does: it calls CreatePlayerSession.
async function seat() {
  const answer = await fetch('/dev/join', { method: 'POST' })
  if (!answer.ok) throw new Error(await answer.text())
  return answer.json()
}

function place(element, { x, y }) {
  element.style.left = `${x / WIDTH * 100}%`
  element.style.top = `${y / HEIGHT * 100}%`
}

function show({ star, players }, me) {
  $('#star').hidden = false
  place($('#star'), star)
  for (const p of players) {
    let element = shown.get(p.id)
    if (element === undefined) {
      element = document.createElement('div')
      element.className = 'player'
      element.dataset.peer = p.id
      element.style.setProperty('--color', `hsl(${p.id * 137 % 360} 80% 65%)`)
      field.append(element)
      shown.set(p.id, element)
    }
    element.dataset.name = `${p.id === me ? 'you' : `player ${p.id}`} · ${p.score}`
    element.classList.toggle('away', p.away)
    place(element, p)
  }
  for (const [id, element] of shown) {
    if (players.some(p => p.id === id)) continue
    element.remove()
    shown.delete(id)
  }
  $('#status').textContent = `${players.length} ${players.length === 1 ? 'player' : 'players'}${back}`
}

function play(game) {
  let at // where the player wants to be; from its first place on
  let said = '' // what the server knows of it
  game.on('message', m => {
    if (m.opCode !== Op.state) return
    const state = JSON.parse(m.text)
    show(state, game.peerId)
    const me = state.players.find(p => p.id === game.peerId)
    if (at !== undefined || me === undefined) return
    at = { x: me.x, y: me.y }
    said = JSON.stringify(at)
  })
  game.on('detached', () => { $('#status').textContent = 'reconnecting' })
  game.on('reconnected', ({ afterMs }) => {
    back = ` · back after ${(afterMs / 1000).toFixed(1)} s`
    said = '' // it may have been lost
  })
  game.on('end', end => { $('#status').textContent = end.code === 4013 ? 'the script crashed: look at the terminal' : `over: ${end}` })

  const go = (x, y) => {
    if (at !== undefined) at = { x: Math.max(0, Math.min(WIDTH, x)), y: Math.max(0, Math.min(HEIGHT, y)) }
  }
  setInterval(() => { // 20 times a second at most, and only what is new
    const text = JSON.stringify(at)
    if (at === undefined || text === said || !game.attached) return
    said = text
    game.send({ opCode: Op.go, targetPlayer: SERVER, payload: text, intent: 'fast' }) // the next one replaces it
  }, 50)

  field.onpointermove = field.onpointerdown = e => {
    const box = field.getBoundingClientRect()
    go((e.clientX - box.left) / box.width * WIDTH, (e.clientY - box.top) / box.height * HEIGHT)
  }
  const keys = { ArrowLeft: [-24, 0], ArrowRight: [24, 0], ArrowUp: [0, -24], ArrowDown: [0, 24] }
  addEventListener('keydown', e => {
    if (keys[e.key] === undefined) return
    e.preventDefault()
    if (at !== undefined) go(at.x + keys[e.key][0], at.y + keys[e.key][1])
  })

  $('#cut').onclick = () => game.outage(2000)
  // A reload leaves the game session and joins another one, so that it plays the script as you have saved it. To keep the
  // seat over a reload instead, keep what seat() returns in sessionStorage, connect with it again, and drop this line.
  addEventListener('pagehide', () => game.close())
}

$('#again').onclick = () => location.reload()
addEventListener('pageshow', e => { if (e.persisted) location.reload() }) // back to a page that has left

try {
  const { url, secureUrl, playerSessionId } = await seat() // secureUrl is wss://, and only a page that came by https gets one
  play(await connect({ url: secureUrl ?? url, playerSessionId }))
} catch (error) {
  $('#status').textContent = `cannot join: ${error.message}`
}
