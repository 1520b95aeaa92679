import { encodeText } from './protobuf.js'
import { PAYLOAD_MAX } from './protocol.js'
import { delayDefault, delayMaxDefault, type Reconnect } from './policy.js'
import type { Handlers } from './events.js'
import type { WebSocketConstructor } from './connection.js'
import { timerMax } from './waiting.js'

/** What `connect` needs. `url` and `playerSessionId` are required. Times are in milliseconds. */
export interface Options {
  /** `ws://host:port` or `wss://host:port` of the player session: IP address and port for ws, DNS name and port for wss. */
  url: string
  /** The id of the player session to log in with, `psess-...`. */
  playerSessionId: string
  /** Goes to the game's `onPlayerConnect`; at most 4096 bytes. */
  payload?: Uint8Array | string
  /** Handlers that are there before the first event. */
  on?: Partial<Handlers>
  /** Ends `connect`, and nothing is left. It means nothing afterwards. */
  signal?: AbortSignal
  /** The class of WebSockets, where there is none of the platform: Node.js 20. */
  WebSocket?: WebSocketConstructor
  /** Bounds `connect`, and each attempt to come back; default 15 s. */
  connectTimeoutMs?: number
  /** How long the host may be silent, although it was asked for a sign of life, before the connection counts as lost; default 15 s. */
  silenceMaxMs?: number
  /** How the client comes back after a loss; false: it does not. */
  reconnect?: Partial<Reconnect> | false
  /** Bounds of the reliable messages that the host has not acknowledged; default 1 MiB and 4096. */
  sendBufferBytes?: number
  sendBufferMessages?: number
  /** Whether a browser's `online` event, and a page that becomes visible again, make the client look after its connection; default true. */
  watchNetwork?: boolean
}

/** Options with defaults. */
export interface Settings {
  url: string
  playerSessionId: string
  payload: Uint8Array
  WebSocket: WebSocketConstructor
  connectTimeoutMs: number
  silenceMaxMs: number
  reconnect: Reconnect
  reconnects: boolean
  sendBufferBytes: number
  sendBufferMessages: number
  watchNetwork: boolean
}

/** Checks options and fills in defaults. Throws TypeError or RangeError. */
export function settingsOf(o: Options): Settings {
  if (typeof o.playerSessionId !== 'string' || o.playerSessionId === '') throw new TypeError('playerSessionId must be text')
  const WebSocket = o.WebSocket ?? (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket
  if (WebSocket === undefined) throw new TypeError('this platform has no WebSocket: give one as the option WebSocket (in Node.js 20, that of the package ws)')
  const reconnect = o.reconnect || {}
  return {
    url: checkURL(o.url),
    playerSessionId: o.playerSessionId,
    payload: checkPayload(o.payload),
    WebSocket,
    connectTimeoutMs: positive('connectTimeoutMs', o.connectTimeoutMs, 15_000),
    silenceMaxMs: positive('silenceMaxMs', o.silenceMaxMs, 15_000),
    reconnect: {
      delayMs: positive('reconnect.delayMs', reconnect.delayMs, delayDefault),
      delayMaxMs: positive('reconnect.delayMaxMs', reconnect.delayMaxMs, delayMaxDefault),
      giveUpAfterMs: positive('reconnect.giveUpAfterMs', reconnect.giveUpAfterMs, 0),
    },
    reconnects: o.reconnect !== false,
    sendBufferBytes: positive('sendBufferBytes', o.sendBufferBytes, 1 << 20),
    sendBufferMessages: positive('sendBufferMessages', o.sendBufferMessages, 4096),
    watchNetwork: o.watchNetwork ?? true,
  }
}

function positive(name: string, value: number | undefined, otherwise: number): number {
  if (value === undefined || value === 0) return otherwise
  if (!(value > 0)) throw new RangeError(`${name} must be a positive number`)
  return name.startsWith('sendBuffer') ? value : Math.min(value, timerMax)
}

/** Returns the address that a WebSocket is opened to. */
export function checkURL(text: string): string {
  let url: URL | undefined
  try {
    url = new URL(text)
  } catch {
    // it is told below
  }
  if (url?.protocol !== 'ws:' && url?.protocol !== 'wss:') throw new TypeError(`url must be ws://host:port or wss://host:port, not "${String(text).slice(0, 200)}"`)
  if (url.pathname === '/') url.pathname = '/websocket'
  url.hash = ''
  return url.href
}

/** Returns the bytes of a payload. */
export function checkPayload(payload: Uint8Array | string | undefined): Uint8Array {
  const bytes = payload === undefined ? new Uint8Array(0) : typeof payload === 'string' ? encodeText(payload) : payload
  if (!(bytes instanceof Uint8Array)) throw new TypeError('payload must be text or a Uint8Array')
  if (bytes.length > PAYLOAD_MAX) throw new RangeError(`payload is larger than ${PAYLOAD_MAX} bytes`)
  return bytes
}
