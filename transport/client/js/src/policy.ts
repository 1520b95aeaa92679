// When attempts to come back are made: pure functions, the same as in the Go SDK (transport/client/policy.go).

import { DroppedError, EndedError, NotResumedError, NumbersError, RefusedError, type End } from './errors.js'

/** How a client reconnects. Times are in milliseconds. */
export interface Reconnect {
  delayMs: number
  delayMaxMs: number
  /** 0: the host's window and a margin. */
  giveUpAfterMs: number
}

export const delayDefault = 200
export const delayMaxDefault = 5000
/** Added to the host's window, which begins later than the client's. */
const windowMargin = 5000
/** Assumed if the host announces no window: it is the host's default. */
const windowUnknown = 30_000
/** The first attempts after the loss of a working connection are quick, and a little less so if there was no loss for `calm`: many may share such a loss. */
const triesQuick = -2
const triesCalm = -1
const calm = 30_000
/** Quick attempts follow only so many losses in a row, and one more loss per lossEvery. */
const lossesMax = 10
const lossEvery = 1000
/** Bounds the random delay on top of the wait that a host asks for. */
const spreadMax = 2000
/** The wait if the host says "later" without a time. */
const laterMin = 1000
/** Bounds the first attempt after a loss. Each next one may take twice as long. */
export const attemptFirst = 3000

/** How long after a loss attempts are made. */
export function giveUpAfter(r: Reconnect, windowMs: number): number {
  return r.giveUpAfterMs || (windowMs || windowUnknown) + windowMargin
}

/** Bounds the random wait before attempt n, which is negative for a quick one. */
export function delayMax(r: Reconnect, n: number): number {
  if (n <= triesQuick) return Math.min(r.delayMs / 10, r.delayMaxMs)
  if (n === triesCalm) return Math.min(r.delayMs / 2, r.delayMaxMs)
  return Math.min(r.delayMs * 2 ** Math.min(n, 30), r.delayMaxMs)
}

/** The random wait before attempt n, so that a crowd does not come back in one instant. */
export function delayAfter(r: Reconnect, n: number, away: number, asked: number): number {
  const bound = asked > 0 ? Math.max(delayMax(r, n), Math.min(asked, spreadMax)) : Math.min(delayMax(r, n), Math.max(r.delayMs, away))
  return Math.random() * bound
}

/** Counts losses of connections that worked. */
export class RecentLosses {
  private spent = 0
  private at = -Infinity
  /** The last loss was one too many. */
  over = false

  /** The number of the first attempt after a loss. After too many losses it is `tries`, the number of attempts so far. */
  next(now: number, tries: number): number {
    const since = now - this.at
    this.at = now
    this.spent = Math.max(0, this.spent - since / lossEvery)
    this.over = this.spent + 1 > lossesMax
    if (this.over) return Math.max(tries, 0)
    this.spent++
    return since > calm ? triesCalm : triesQuick
  }
}

/** The least wait after the end of a connection or of an attempt. `atOnce` needs no random wait on top: other clients have not lost theirs at the same time. */
export interface Next {
  asked: number
  atOnce: boolean
  final: boolean
}

export function afterLoss(end: End): Next {
  switch (end.retry) {
    case 'never': return { asked: 0, atOnce: false, final: true }
    case 'later': return { asked: laterMin, atOnce: false, final: false }
  }
  return { asked: 0, atOnce: end.error instanceof DroppedError, final: false }
}

export function afterAttempt(error: Error): Next {
  if (error instanceof RefusedError) return { asked: error.retryAfterMs, atOnce: false, final: error.retryAfterMs === 0 }
  if (error instanceof NumbersError || error instanceof NotResumedError) return { asked: 0, atOnce: false, final: true }
  if (error instanceof EndedError) return { ...afterLoss(error.end), atOnce: false }
  return { asked: 0, atOnce: false, final: false }
}

/** Bounds attempt n, in milliseconds. */
export function attemptMax(connectTimeoutMs: number, n: number): number {
  return Math.min(connectTimeoutMs, attemptFirst * 2 ** Math.min(n, 10))
}
