// Starts `troupe dev` with this game, on free ports.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join as path } from 'node:path'
import { fileURLToPath } from 'node:url'

const game = fileURLToPath(new URL('..', import.meta.url))

/** Returns join(playerId), which plays on a host that ends with the test, and the client's SERVER. */
export async function startHost(t) {
  const dir = await mkdtemp(path(tmpdir(), 'game-'))
  const announce = path(dir, 'addresses.json')
  const free = ['api', 'ws', 'fast'].flatMap(name => [`--${name}-addr`, '127.0.0.1:0'])
  const off = ['wss', 'dtls', 'kcp'].map(name => `--${name}-addr=`)
  const troupe = process.env.TROUPE ?? 'troupe'
  const host = spawn(troupe, ['dev', game, '--announce', announce, '--set', `log.gameSessions.dir=${dir}`, ...free, ...off], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [host.stdout, host.stderr]) stream.on('data', data => { output += data })
  let failed
  host.on('error', error => { failed = error.code === 'ENOENT' ? new Error(`there is no ${troupe}: put it into PATH, or name it, as in TROUPE=/path/to/troupe npm test`) : error })
  const ended = new Promise(resolve => host.on('close', resolve))
  const players = []
  t.after(async () => {
    for (const player of players) player.abort()
    host.kill()
    await ended
    await rm(dir, { recursive: true, force: true })
  })

  let addresses
  while (addresses === undefined) {
    if (failed !== undefined) throw failed
    if (host.exitCode !== null) throw new Error(`troupe dev has ended:\n${output}`)
    await new Promise(resolve => setTimeout(resolve, 20))
    addresses = await readFile(announce, 'utf8').then(JSON.parse, () => undefined)
  }
  const source = await (await fetch(`${addresses.api_url}/client.js`)).text() // Node.js imports no module by http
  const { connect, SERVER } = await import(`data:text/javascript;base64,${Buffer.from(source).toString('base64')}`)
  return {
    SERVER,
    async join(playerId) {
      const answer = await fetch(`${addresses.api_url}/dev/join`, { method: 'POST', body: JSON.stringify({ playerId }) })
      if (!answer.ok) throw new Error(await answer.text())
      const { url, playerSessionId } = await answer.json()
      const player = await connect({ url, playerSessionId })
      players.push(player)
      return player
    },
  }
}
