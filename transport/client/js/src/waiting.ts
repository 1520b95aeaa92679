// Waiting that can be ended from elsewhere. All times are in milliseconds, of a clock that nobody sets.

export function now(): number {
  return performance.now()
}

/** The longest time that a timer of the platform can wait. */
export const timerMax = 2 ** 31 - 1

export type Timer = ReturnType<typeof setTimeout>

/** A wait that `wake` ends. */
export class Sleep {
  private end: ((woken: boolean) => void) | undefined

  /** Resolves after a time with false, or at `wake` with true. */
  for(ms: number): Promise<boolean> {
    return new Promise(resolve => {
      const timer = setTimeout(() => this.end?.(false), Math.min(ms, timerMax))
      this.end = woken => {
        clearTimeout(timer)
        this.end = undefined
        resolve(woken)
      }
    })
  }

  wake(): void {
    this.end?.(true)
  }
}

/** Promises that are waited for together: all are resolved or rejected at once. */
export class Waiters {
  private readonly all = new Set<() => void>()

  /** Resolves at the next `wake`. Rejects with the signal's reason. */
  wait(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted()
    return new Promise((resolve, reject) => {
      const done = (): void => {
        this.all.delete(done)
        signal?.removeEventListener('abort', aborted)
        resolve()
      }
      const aborted = (): void => {
        this.all.delete(done)
        reject(signal!.reason as Error)
      }
      this.all.add(done)
      signal?.addEventListener('abort', aborted, { once: true })
    })
  }

  wake(): void {
    for (const done of [...this.all]) done()
  }
}

/** Waits for a promise. Rejects with the signal's reason. */
export async function unless(promise: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted()
  let aborted!: () => void
  const abort = new Promise<never>((_, reject) => { aborted = () => reject(signal!.reason as Error) })
  signal?.addEventListener('abort', aborted, { once: true })
  try {
    await Promise.race([promise, abort])
  } finally {
    signal?.removeEventListener('abort', aborted)
  }
}
