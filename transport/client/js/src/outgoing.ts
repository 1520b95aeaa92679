import { checkPayload } from './options.js'
import { ALL_PLAYERS, Command, isReserved, Op, SERVER } from './protocol.js'
import { groupCommand, packet, type Packet } from './wire.js'

/** A message to send. It needs a target. */
export interface OutgoingMessage {
  /** The game's own, a positive number; 0 and negative numbers that the protocol does not use are possible. */
  opCode: number
  /** A peer id or SERVER; it comes before targetGroup. */
  targetPlayer?: number
  /** A group that the player is in, or ALL_PLAYERS. */
  targetGroup?: number
  /** At most 4096 bytes. */
  payload?: Uint8Array | string
  /** Fast messages may be lost: they are not numbered, not sent again, and dropped while there is no connection. Default reliable. */
  intent?: 'reliable' | 'fast'
}

/** Makes a packet of a message. Throws TypeError or RangeError for one that the host would drop without a word. */
export function packetOf(m: OutgoingMessage): Packet {
  const { opCode, targetPlayer = 0, targetGroup = 0 } = m
  checkInt32('opCode', opCode)
  checkInt32('targetPlayer', targetPlayer)
  checkInt32('targetGroup', targetGroup)
  if (targetPlayer === 0 && targetGroup === 0 || targetPlayer < SERVER || targetGroup < ALL_PLAYERS) throw new RangeError('a message needs a target')
  if (isReserved(opCode)) throw new RangeError(`op code ${opCode} belongs to the protocol`)
  if (m.intent !== undefined && m.intent !== 'reliable' && m.intent !== 'fast') throw new TypeError('intent must be reliable or fast')
  return packet({ opCode, targetPlayer, targetGroup, payload: checkPayload(m.payload) })
}

/** Makes a packet that joins, leaves or asks for a group. */
export function groupPacket(what: 'join' | 'leave' | 'request', group: number): Packet {
  checkInt32('group', group)
  if (group === 0 || group < (what === 'request' ? ALL_PLAYERS : 1)) throw new RangeError(`there is no group ${group} to ${what}`)
  switch (what) {
    case 'join': return groupCommand(Op.joinGroup, Command.joinGroup, group)
    case 'leave': return groupCommand(Op.leaveGroup, Command.leaveGroup, group)
    case 'request': return groupCommand(Op.requestMembership, Command.requestMembership, group)
  }
}

function checkInt32(name: string, value: number): void {
  if (!Number.isInteger(value) || value !== (value | 0)) throw new RangeError(`${name} must be a whole number of 32 bits`)
}
