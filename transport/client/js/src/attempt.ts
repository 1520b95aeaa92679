import { Connection, type WebSocketConstructor } from './connection.js'
import { EndedError, RefusedError, TimeoutError, type End } from './errors.js'
import { Close } from './protocol.js'
import { now, type Timer } from './waiting.js'

/** What an attempt to log in needs of its client. */
export interface AttemptHooks {
  /** Sends LOGIN. */
  ask(connection: Connection): void
  /** Processes the first unit. An error is that of the attempt. */
  answer(attempt: Attempt, connection: Connection, unit: Uint8Array | undefined): void
  /** After the answer: further units, and the end of the connection. */
  unit(connection: Connection, unit: Uint8Array | undefined): void
  ended(connection: Connection, end: End): void
}

/**
 * How long a connection may take to open before another one is opened beside it. What began without a network often hangs long after the
 * network is back.
 */
export const besideAfter = 2000
/**
 * How many connections of an attempt may be opening at a time: one more gives up the oldest. Browsers open one connection after the other to an
 * address, so one that hangs must go for the next to begin.
 */
const openingMax = 3

/** One try to open a connection and to log in over it. LOGIN goes over the connection that opens first; the others are dropped. */
export class Attempt {
  readonly began = now()
  /** The connection that has opened. */
  connection: Connection | undefined
  /** Resolves when the login is accepted. After a rejection nothing is left of the attempt. */
  readonly done: Promise<void>
  /** LOGIN was sent and is not answered: it may still reach the host. */
  asked = false
  private answered = false
  private over = false
  private opening: Connection[] = []
  private beside: Timer | undefined
  /** How the last connection ended that did not open, while others may still do. */
  private refused: EndedError | undefined
  private resolve!: () => void
  private reject!: (error: Error) => void
  private readonly stop: () => void

  /** Throws what the platform says about an address that it does not open. */
  constructor(WebSocket: WebSocketConstructor, url: string, timeout: number, signal: AbortSignal | undefined, hooks: AttemptHooks) {
    signal?.throwIfAborted()
    const open = (): void => {
      const connection: Connection = new Connection(WebSocket, url, {
        opened: () => {
          this.asked = true
          this.connection = connection
          this.dropOthers()
          hooks.ask(connection)
        },
        unit: unit => {
          if (this.answered) hooks.unit(connection, unit)
          else this.onAnswer(hooks, connection, unit)
        },
        ended: end => {
          if (this.answered) hooks.ended(connection, end)
          else if (this.asked) this.fail(new EndedError(end))
          else {
            this.opening = this.opening.filter(other => other !== connection)
            this.refused = new EndedError(end)
            if (this.opening.length === 0) this.fail(new EndedError(end, `no connection to ${url}: ${end.error?.message ?? end}`))
          }
        },
      })
      this.opening.push(connection)
      if (this.opening.length > openingMax) this.opening.shift()!.discard()
      this.beside = setTimeout(() => {
        try {
          open()
        } catch {
          // the platform opens no more: those that are opening go on
        }
      }, besideAfter)
    }
    open()
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    const timer = setTimeout(() => {
      const before = this.refused === undefined ? '' : `; before: ${this.refused.message}`
      this.fail(new TimeoutError(`no answer from ${url} within ${Math.round(timeout)} ms${before}`, { cause: this.refused }))
    }, Math.max(0, timeout))
    const aborted = (): void => this.fail(signal!.reason as Error)
    signal?.addEventListener('abort', aborted, { once: true })
    this.stop = () => {
      this.over = true
      clearTimeout(timer)
      clearTimeout(this.beside)
      signal?.removeEventListener('abort', aborted)
    }
  }

  private onAnswer(hooks: AttemptHooks, connection: Connection, unit: Uint8Array | undefined): void {
    this.asked = false
    this.answered = true
    this.stop() // first: a handler that is called here may end the client's attempts
    try {
      hooks.answer(this, connection, unit)
    } catch (error) {
      this.discard(error as Error)
      return
    }
    this.resolve()
  }

  /** Gives the attempt up, unless it is over. With leave, a host that has accepted the login is told that the player leaves. */
  fail(error: Error, leave = false): void {
    if (this.over) return
    this.stop()
    this.discard(error, leave)
  }

  private dropOthers(): void {
    clearTimeout(this.beside)
    for (const other of this.opening) if (other !== this.connection) other.discard()
    this.opening = []
  }

  private discard(error: Error, leave = false): void {
    this.dropOthers()
    this.connection?.discard(leave || error instanceof RefusedError ? Close.normal : undefined)
    this.reject(error)
  }
}
