/** Counts since `connect` or the last `resetStats`, over all connections. */
export interface Stats {
  /** Packets and their bytes, those of the protocol itself included. */
  sent: number
  sentBytes: number
  received: number
  receivedBytes: number
  /** Packets that could not be read; `received` counts them, too. */
  malformed: number
  /** Fast messages that were dropped: there was no connection, or it was congested. */
  unsent: number
  /** How often the client has reconnected after a loss. */
  reconnects: number
  /** Packets that were sent again after a reconnect, and that were received again and dropped. */
  replayed: number
  duplicates: number
  /** Gaps that the host has reported, and how many messages they cost. */
  gaps: number
  lost: number
}

export function noStats(): Stats {
  return { sent: 0, sentBytes: 0, received: 0, receivedBytes: 0, malformed: 0, unsent: 0, reconnects: 0, replayed: 0, duplicates: 0, gaps: 0, lost: 0 }
}
