import { GaveUpError, NumbersError, TimeoutError, type End } from './errors.js'
import type { Numbers } from './numbers.js'
import type { Settings } from './options.js'
import { afterAttempt, delayAfter, giveUpAfter, RecentLosses, type Next } from './policy.js'
import { Close } from './protocol.js'
import { now, Sleep } from './waiting.js'

/** The time between two connections. */
export interface Absence {
  since: number
  end: End
  attempts: number
  /** How many attempts in a row have not reached the player's host. */
  unreached: number
  /** The program knows. */
  told: boolean
}

/** How many violations of the numbering in a row, by either side, end the client. */
const violationsMax = 5

/** Decides when a client that has lost its connection tries to log in again, and does so. */
export class Comeback {
  private tries = 0
  private readonly losses = new RecentLosses()
  private violations = { count: 0, progress: 0 }
  private nudged = false
  private stopped = false
  private readonly sleep = new Sleep()
  /** No attempt before this time, and none that began before it succeeds. */
  notBefore = 0

  constructor(private readonly o: Settings, private readonly numbers: Numbers) {}

  /** A connection is lost. */
  lost(): void {
    this.nudged = false
  }

  /** The number of the next attempt depends on the losses before. */
  count(): void {
    this.tries = this.losses.next(now(), this.tries)
  }

  /** Ends the wait for the next attempt, unless the host has asked for it. */
  nudge(): void {
    this.nudged = true
    this.sleep.wake()
  }

  /** Ends everything. */
  stop(): void {
    this.stopped = true
    this.sleep.wake()
  }

  /** Whether there were so many violations of the numbers without progress that reconnecting makes no sense; then why. */
  hopeless(end: End): Error | undefined {
    if (!this.numbers.on || end.code !== Close.outOfOrder && !(end.error instanceof NumbersError)) return undefined
    const { progress } = this.numbers
    if (progress > this.violations.progress) this.violations = { count: 0, progress }
    this.violations.count++
    if (this.violations.count < violationsMax) return undefined
    return new GaveUpError(`did not come back: the numbers did not add up ${this.violations.count} times in a row`, { cause: end.error })
  }

  /** Makes attempts until one succeeds, each with its number and the time when all must be over. Returns why it has given up, or undefined. */
  async run(away: Absence, windowMs: number, next: Next, attempt: (n: number, until: number) => Promise<void>): Promise<Error | undefined> {
    const until = away.since + giveUpAfter(this.o.reconnect, windowMs)
    let { asked } = next
    let delay = next.atOnce ? 0 : this.delay(asked, away)
    let error: Error = new TimeoutError('the time to come back is over')
    for (let n = 0; await this.pause(until, asked, delay); n++) {
      try {
        await attempt(n, until)
        return undefined
      } catch (failure) {
        error = failure as Error
      }
      const then = afterAttempt(error)
      if (then.final) break
      asked = then.asked
      delay = this.delay(asked, away)
    }
    const took = Math.round(now() - away.since)
    return new GaveUpError(`did not come back: ${away.attempts} attempts in ${took} ms after "${away.end}": ${error.message}`, { cause: error })
  }

  /** The random wait before the next attempt, in addition to the one that the host asked for. */
  private delay(asked: number, away: Absence): number {
    if (asked > 0) this.tries = Math.max(this.tries, 0)
    const since = this.losses.over ? this.o.reconnect.delayMaxMs : now() - away.since // too many losses count as one absence
    return delayAfter(this.o.reconnect, this.tries++, since, asked)
  }

  /** Waits before an attempt: first as long as the host asked for, then for a delay that a nudge ends. Returns false when there is to be no attempt. */
  private async pause(deadline: number, asked: number, delay: number): Promise<boolean> {
    const earliest = now() + asked
    let until = earliest + delay
    for (;;) {
      const time = now()
      if (this.stopped || time >= deadline) return false
      if (this.nudged) until = earliest
      this.nudged = false
      const wait = Math.max(until, this.notBefore) - time
      if (wait <= 0) return true
      await this.sleep.for(Math.min(wait, deadline - time))
    }
  }
}
