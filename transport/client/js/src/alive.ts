import { now, type Timer } from './waiting.js'

/** How long a timer may be late before its lateness counts as a pause of the program, which says nothing about the host. */
const lateMax = 1000

/**
 * Finds a silent host. A program cannot see the pings of a WebSocket, so a host that is quiet is asked for a sign of life.
 * A page in the background gets its timers late; then the host is asked once more instead of being blamed.
 */
export class Alive {
  private timer: Timer | undefined
  private heardAt = 0
  private asked = false
  /** It was asked once more, because the time of the first question ended late. */
  private again = false
  private due = 0

  constructor(private readonly silenceMax: number, private readonly ask: () => void, private readonly silent: () => void) {}

  /** Begins to watch a new connection. */
  start(): void {
    this.stop()
    this.heard()
    this.wait(this.quiet)
  }

  stop(): void {
    clearTimeout(this.timer)
    this.timer = undefined
  }

  /** Something came from the host. */
  heard(): void {
    this.heardAt = now()
    if (!this.asked) return
    this.asked = false
    this.wait(this.quiet) // the host's silence begins now, not when the time of the question is over
  }

  /** Asks at once, and waits for a shorter time: something says that the network has changed. */
  probe(patience: number): void {
    if (this.timer === undefined) return
    this.question(Math.min(patience, this.silenceMax - this.quiet))
  }

  /** How long the host may be quiet before it is asked. */
  private get quiet(): number {
    return this.silenceMax / 3
  }

  private question(patience: number, again = false): void {
    this.asked = true
    this.again = again
    this.wait(patience)
    this.ask()
  }

  private wait(ms: number): void {
    clearTimeout(this.timer)
    this.due = now() + ms
    this.timer = setTimeout(() => this.look(), ms)
  }

  private look(): void {
    const time = now()
    if (!this.asked) {
      const rest = this.quiet - (time - this.heardAt)
      if (rest > 0) this.wait(rest)
      else this.question(this.silenceMax - this.quiet)
    } else if (!this.again && time - this.due > lateMax) this.question(this.silenceMax - this.quiet, true)
    else {
      this.timer = undefined
      this.silent()
    }
  }
}
