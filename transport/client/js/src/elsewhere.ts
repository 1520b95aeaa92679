// Other hosts of a cluster (docs/spec/cluster.md 8): their addresses, and when a client asks them.

import { checkURL } from './options.js'
import { End, EndedError, RefusedError } from './errors.js'
import { encodeText, MalformedError } from './protobuf.js'

/** How many redirects an attempt follows. Hosts that do not agree where a player belongs must not keep a client busy. */
export const redirectsMax = 3
/** How many attempts in a row do not reach the player's host before other hosts are asked. */
export const unreachedMax = 2
/** The wait in milliseconds after a redirect that was not followed. */
export const redirectedMin = 2000
/** Bytes of the text of Endpoints. */
const endpointsMax = 1024

/** The addresses of a host for players, `host:port`; undefined: the host does not offer that transport. */
export interface Endpoints {
  ws?: string
  wss?: string
}

const address = /^(?:[\w.-]+|\[[\da-fA-F:.]+\]):(\d{1,5})$/

/** Reads a text such as `ws=127.0.0.1:1900 wss=a.example:1901 kcp=a.example:1902`. Throws MalformedError if an address is invalid, or none is known. */
export function parseEndpoints(text: string): Endpoints {
  const e: Endpoints = {}
  let known = false
  if (encodeText(text).length > endpointsMax) throw new MalformedError('the addresses are too long')
  for (const one of text.split(/\s+/)) {
    const [, name, addr = ''] = /^(ws|wss|kcp)(?:=(.*))?$/.exec(one) ?? []
    if (name === undefined) continue // a newer host may have more
    const port = Number(address.exec(addr)?.[1] ?? 0)
    if (port < 1 || port > 65535) throw new MalformedError('an address is not host:port')
    known = true
    if (name !== 'kcp') e[name as keyof Endpoints] = addr
  }
  if (!known) throw new MalformedError('no address')
  return e
}

/** The URL of another host for a client that uses `like`: the scheme stays. Throws EndedError if the host does not offer it. */
export function urlAt(e: Endpoints, like: string): string {
  const scheme = like.startsWith('wss:') ? 'wss' : 'ws'
  const addr = e[scheme]
  if (addr === undefined) {
    const error = new Error(`the host of the game session does not offer ${scheme}`)
    throw new EndedError(new End(0, '', false, error), error.message)
  }
  return checkURL(`${scheme}://${addr}`)
}

/** Reads the addresses of other hosts, leaving out invalid ones, in random order, so that the players of a lost host do not all ask the same one. */
export function alternatesOf(texts: readonly string[]): Endpoints[] {
  const all: Endpoints[] = []
  for (const text of texts) {
    try {
      all.splice(Math.floor(Math.random() * (all.length + 1)), 0, parseEndpoints(text))
    } catch {
      // an address of a host that is not usable
    }
  }
  return all
}

/** Whether the host itself has answered: it would refuse every attempt. */
export function answered(error: unknown): boolean {
  return error instanceof RefusedError || error instanceof EndedError && error.end.code !== 0
}
