import { CLOSE_DROPPED, Close } from './protocol.js'
import { DroppedError, End } from './errors.js'

/** The part of a WebSocket that is used: that of browsers, of Node.js and of the package ws. */
export interface WebSocketLike {
  binaryType: string
  readonly readyState: number
  readonly bufferedAmount: number
  onopen: ((event: any) => void) | null
  onmessage: ((event: any) => void) | null
  onclose: ((event: any) => void) | null
  onerror: ((event: any) => void) | null
  send(data: Uint8Array<ArrayBuffer>): void
  close(code?: number, reason?: string): void
}

export type WebSocketConstructor = new (url: string) => WebSocketLike

/** Bytes that a WebSocket may hold before more are written. What waits beyond that stays in the send buffer, which is bounded. */
const bufferedMax = 256 << 10
const stateOpen = 1

/** Who is told of what a connection does. */
export interface ConnectionHandlers {
  opened(): void
  /** One unit, or undefined for a text message, which no host sends. */
  unit(unit: Uint8Array | undefined): void
  /** Called last, once. */
  ended(end: End): void
}

/** One WebSocket. After its end it calls nobody. */
export class Connection {
  private readonly ws: WebSocketLike
  private handlers: ConnectionHandlers | undefined

  constructor(WebSocket: WebSocketConstructor, readonly url: string, handlers: ConnectionHandlers) {
    this.handlers = handlers
    const ws = new WebSocket(url)
    this.ws = ws
    ws.binaryType = 'arraybuffer'
    ws.onopen = () => this.handlers?.opened()
    ws.onmessage = (event: { data: unknown }) => this.handlers?.unit(event.data instanceof ArrayBuffer ? new Uint8Array(event.data) : undefined)
    ws.onerror = (event: { message?: unknown; error?: unknown }) => { // the end: Node.js does not always close what has failed
      const { error, message } = event
      this.drop(error instanceof Error ? error : new Error(typeof message === 'string' && message !== '' ? message : 'no reason given'))
    }
    ws.onclose = (event: { code?: number; reason?: string }) => {
      const code = event.code ?? 1006
      this.finish(code === 1006 ? new End(0, '', false, new Error('the connection broke')) : new End(code, event.reason ?? '', false))
    }
  }

  /** Whether more may be written. */
  get writable(): boolean {
    return this.ws.readyState === stateOpen && this.ws.bufferedAmount < bufferedMax
  }

  send(unit: Uint8Array<ArrayBuffer>): void {
    try {
      this.ws.send(unit)
    } catch (error) {
      this.drop(error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** Sends what was written, and a close frame that says that the player leaves. `ended` follows, unless the network is gone. */
  leave(): void {
    this.ws.close(Close.normal)
  }

  /** Ends the connection at once; to the host it is a loss. */
  drop(cause: Error = new DroppedError()): void {
    if (this.handlers === undefined) return
    this.release(CLOSE_DROPPED)
    this.finish(new End(0, '', false, cause))
  }

  /** Ends a connection that nobody waits for any more. */
  discard(code: number = CLOSE_DROPPED): void {
    this.handlers = undefined
    this.release(code)
  }

  private release(code: number): void {
    const { ws } = this
    ws.onopen = ws.onmessage = ws.onclose = null
    ws.onerror = () => undefined // the package ws would throw
    try {
      ws.close(code)
    } catch {
      // it was never opened: it is closed now
    }
  }

  private finish(end: End): void {
    const { handlers } = this
    this.handlers = undefined
    handlers?.ended(end)
  }
}
