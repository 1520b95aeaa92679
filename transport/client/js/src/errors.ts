import type { Endpoints } from './elsewhere.js'
import { retryOf, type Retry } from './protocol.js'

/** How a connection, or the client, ended. */
export class End {
  constructor(
    /** The host's close code, 0 if it sent none. */
    readonly code: number,
    /** The text that came with it. */
    readonly reason: string,
    /** Whether `close` or `abort` was called before. */
    readonly local: boolean,
    /** What broke the connection; undefined after a close by the host, `close` or `abort`. */
    readonly error?: Error,
  ) {}

  /** What a program should do next: a client does this by itself. */
  get retry(): Retry {
    if (this.local || this.error instanceof GaveUpError) return 'never'
    return this.code === 0 ? 'resume' : retryOf(this.code)
  }

  toString(): string {
    if (this.local) return 'closed here'
    if (this.code !== 0) return `closed by the host: ${this.code}${this.reason === '' ? '' : ' ' + this.reason}`
    return `connection lost: ${this.error?.message ?? 'no reason given'}`
  }
}

/** The host did not accept the login. */
export class RefusedError extends Error {
  override name = 'RefusedError'
  constructor(
    /** How long the host asks to wait, in milliseconds; 0: do not try again. */
    readonly retryAfterMs: number,
    /** A short text; empty if the host gives none, as for an unknown id. */
    readonly reason: string,
    /** Whether the game session is over: it has ended, its host was lost, or no host knows the player session. */
    readonly over = false,
    /** @internal The host that runs the game session, if it is another one. */
    readonly moved?: Endpoints,
  ) {
    super(retryAfterMs > 0 ? `login refused for now: again after ${retryAfterMs} ms`
      : reason !== '' ? `login refused: ${reason}`
      : 'login refused without a reason, as hosts do if they do not know the player session (any more)')
  }
}

/** There was no connection, or it ended before the login was answered. Its `cause` is what the platform says, if anything broke. */
export class EndedError extends Error {
  override name = 'EndedError'
  constructor(readonly end: End, text = end.toString()) {
    super(text, { cause: end.error })
  }
}

/** No answer came in time. Its `cause` is an EndedError if a connection was refused before. */
export class TimeoutError extends Error {
  override name = 'TimeoutError'
}

/** The client has ended. */
export class ClosedError extends Error {
  override name = 'ClosedError'
  constructor() {
    super('the client has ended')
  }
}

/** The connection is lost and has not come back yet. */
export class DetachedError extends Error {
  override name = 'DetachedError'
  constructor() {
    super('not connected at the moment')
  }
}

/** There is no room for another message until the host has acknowledged some. */
export class BufferFullError extends Error {
  override name = 'BufferFullError'
  constructor() {
    super('the send buffer is full')
  }
}

/** The connection was lost and did not come back in time, or was refused. Its `cause` is the error of the last attempt. */
export class GaveUpError extends Error {
  override name = 'GaveUpError'
}

/** Nothing came from the host for too long. */
export class SilentError extends Error {
  override name = 'SilentError'
}

/** The host broke the numbering of packets. */
export class NumbersError extends Error {
  override name = 'NumbersError'
  constructor(what: string) {
    super(`the host's numbers do not add up: ${what}`)
  }
}

/** The host knows nothing of the player session's past: messages that were not acknowledged are lost. */
export class NotResumedError extends Error {
  override name = 'NotResumedError'
  constructor() {
    super("the host knows nothing of the player session's past")
  }
}

/** This side dropped the connection. */
export class DroppedError extends Error {
  override name = 'DroppedError'
  constructor() {
    super('dropped here')
  }
}
