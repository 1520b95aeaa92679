import { Connection, type WebSocketConstructor } from './connection.js'
import { EndedError, RefusedError, TimeoutError, type End } from './errors.js'
import { Close } from './protocol.js'
import { now } from './waiting.js'

/** What an attempt to log in needs of its client. */
export interface AttemptHooks {
  /** Sends LOGIN. */
  ask(connection: Connection): void
  /** Processes the first unit. An error is that of the attempt. */
  answer(attempt: Attempt, unit: Uint8Array | undefined): void
  /** After the answer: further units, and the end of the connection. */
  unit(connection: Connection, unit: Uint8Array | undefined): void
  ended(connection: Connection, end: End): void
}

/** One try to open a connection and to log in over it. */
export class Attempt {
  readonly began = now()
  readonly connection: Connection
  /** Resolves when the login is accepted. After a rejection nothing is left of the attempt. */
  readonly done: Promise<void>
  /** LOGIN was sent and is not answered: it may still reach the host. */
  asked = false
  private answered = false
  private over = false
  private resolve!: () => void
  private reject!: (error: Error) => void
  private readonly stop: () => void

  /** Throws what the platform says about an address that it does not open. */
  constructor(WebSocket: WebSocketConstructor, url: string, timeout: number, signal: AbortSignal | undefined, hooks: AttemptHooks) {
    signal?.throwIfAborted()
    this.connection = new Connection(WebSocket, url, {
      opened: () => {
        this.asked = true
        hooks.ask(this.connection)
      },
      unit: unit => {
        if (this.answered) hooks.unit(this.connection, unit)
        else this.onAnswer(hooks, unit)
      },
      ended: end => {
        if (this.answered) hooks.ended(this.connection, end)
        else this.fail(this.asked ? new EndedError(end) : new EndedError(end, `no connection to ${url}: ${end.error?.message ?? end}`))
      },
    })
    this.done = new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
    })
    const timer = setTimeout(() => this.fail(new TimeoutError(`no answer from ${url} within ${Math.round(timeout)} ms`)), Math.max(0, timeout))
    const aborted = (): void => this.fail(signal!.reason as Error)
    signal?.addEventListener('abort', aborted, { once: true })
    this.stop = () => {
      this.over = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', aborted)
    }
  }

  private onAnswer(hooks: AttemptHooks, unit: Uint8Array | undefined): void {
    this.asked = false
    this.answered = true
    this.stop() // first: a handler that is called here may end the client's attempts
    try {
      hooks.answer(this, unit)
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

  private discard(error: Error, leave = false): void {
    this.connection.discard(leave || error instanceof RefusedError ? Close.normal : undefined)
    this.reject(error)
  }
}
