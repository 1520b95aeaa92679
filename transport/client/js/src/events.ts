import type { End } from './errors.js'

/** A message of a player or of the game. */
export class Message {
  constructor(
    /** A peer id, or SERVER. */
    readonly sender: number,
    readonly opCode: number,
    /** The own peer id if it was sent to this player alone. */
    readonly targetPlayer: number,
    /** The group that it was sent to, ALL_PLAYERS, or 0. */
    readonly targetGroup: number,
    readonly payload: Uint8Array,
  ) {}

  /** The payload as text. */
  get text(): string {
    return new TextDecoder().decode(this.payload)
  }
}

/** The current members of a group. */
export interface Membership {
  group: number
  players: number[]
  /** Who asked for it, or SERVER. */
  sender: number
}

/** How a client was resumed. */
export interface Reconnected {
  /** Attempts, and the time since the loss. */
  attempts: number
  afterMs: number
  /** Own packets that were under way at the loss and are sent again; the host drops duplicates. */
  replayed: number
  /** Messages to this player that the host could not keep; a `gap` follows. */
  lost: number
  /** The same as before, unless the host does not number messages and the player was not resumed. */
  peerId: number
}

/** Messages to this player that are lost. */
export interface Gap {
  lost: number
}

/** The events of a client, in order. */
export interface Handlers {
  /** A message of a player or of the game. */
  message: (message: Message) => void
  /** The members of a group, after a change or because it was asked for. */
  membership: (membership: Membership) => void
  /** The connection is lost, and the client reconnects. */
  detached: (end: End) => void
  /** It has reconnected; missed messages follow. */
  reconnected: (how: Reconnected) => void
  /** Some of the missed messages are lost, because the host could not keep all of them; the rest follows. */
  gap: (gap: Gap) => void
  /** The client has ended; nothing follows. */
  end: (end: End) => void
}

/** Calls handlers. One that throws is reported like that of a DOM event, and does not keep the others from being called. */
export class Emitter {
  private readonly handlers: { [K in keyof Handlers]: Set<Handlers[K]> } = {
    message: new Set(), membership: new Set(), detached: new Set(), reconnected: new Set(), gap: new Set(), end: new Set(),
  }

  add<K extends keyof Handlers>(name: K, handler: Handlers[K]): void {
    this.of(name).add(handler)
  }

  remove<K extends keyof Handlers>(name: K, handler: Handlers[K]): void {
    this.of(name).delete(handler)
  }

  private of<K extends keyof Handlers>(name: K): Set<Handlers[K]> {
    if (!Object.hasOwn(this.handlers, name)) throw new TypeError(`there is no event ${String(name)}`)
    return this.handlers[name]
  }

  emit<K extends keyof Handlers>(name: K, value: Parameters<Handlers[K]>[0]): void {
    for (const handler of [...this.handlers[name]]) {
      try {
        (handler as (value: Parameters<Handlers[K]>[0]) => void)(value)
      } catch (error) {
        report(error)
      }
    }
  }
}

function report(error: unknown): void {
  const browser = (globalThis as { reportError?: (error: unknown) => void }).reportError
  if (browser !== undefined) browser(error)
  else queueMicrotask(() => { throw error })
}
