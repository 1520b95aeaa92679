// packets.js: reads what goes over a player's WebSocket (docs/spec/realtime.md 3, reliability.md 2), for the playground to show.

const nothing = new Uint8Array(0);

// fields yields the fields of a protobuf message as [number, value]: a BigInt, or bytes.
function* fields(bytes) {
  let at = 0;
  const varint = () => {
    let v = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const b = bytes[at++];
      if (b === undefined) throw new RangeError("it ends inside a number");
      v |= BigInt(b & 0x7f) << shift;
      if (b < 0x80) return v;
    }
    throw new RangeError("a number is too long");
  };
  const take = (n) => {
    if (at + n > bytes.length) throw new RangeError("it ends inside a field");
    at += n;
    return bytes.subarray(at - n, at);
  };
  while (at < bytes.length) {
    const tag = varint();
    const number = Number(tag >> 3n);
    switch (Number(tag & 7n)) {
      case 0: yield [number, varint()]; break;
      case 1: take(8); break;
      case 2: yield [number, take(Number(varint()))]; break;
      case 5: take(4); break;
      default: throw new RangeError("a field has an unknown type");
    }
  }
}

const int32 = (v) => Number(BigInt.asIntN(32, v));
const sint32 = (v) => { const n = Number(BigInt.asUintN(32, v)); return (n >>> 1) ^ -(n & 1); };
// integers returns the fields that are numbers; as in the client, what has another type is not there.
const integers = (bytes) => new Map([...fields(bytes)].filter(([, v]) => typeof v === "bigint"));

function numbers(bytes) { // a packed list
  const all = [];
  for (let at = 0; at < bytes.length;) {
    let v = 0n;
    let shift = 0n;
    do { v |= BigInt(bytes[at] & 0x7f) << shift; shift += 7n; } while (bytes[at++] >= 0x80 && at < bytes.length);
    all.push(int32(v));
  }
  return all;
}

const names = new Map([
  [-1, "login answer"], [-2, "ping"], [-3, "ping answer"], [-5, "fast channel"], [-6, "server ack"], [-7, "client ack"], [-10, "join group"], [-11, "leave group"],
  [-12, "ask for members"], [-13, "members"], [-14, "verify identity"], [-15, "identity"], [-101, "player has joined"], [-103, "player has left"],
  [-1000, "game starts"], [-1001, "game ends"],
]);

// decode reads one unit: a packet behind its length. It throws RangeError for what is none.
export function decode(unit) {
  let size = 0;
  let at = 0;
  do {
    if (at >= unit.length || at > 4) throw new RangeError("it has no length");
    size += (unit[at] & 0x7f) * 2 ** (7 * at);
  } while (unit[at++] >= 0x80);
  if (size > unit.length - at) throw new RangeError("it is shorter than it says");
  const p = { opCode: 0, sender: 0, targetPlayer: 0, targetGroup: 0, payload: nothing, number: 0, ack: 0, command: 0, size: unit.length, about: "", acksAll: 0 };
  let inner = nothing;
  for (const [n, v] of fields(unit.subarray(at, at + size))) {
    if (typeof v !== "bigint") {
      if (n === 15) p.payload = v;
      else if (n >= 30 && n <= 43) [p.command, inner] = [n, v];
    } else if (n === 1) p.opCode = sint32(v);
    else if (n === 3) p.targetPlayer = int32(v);
    else if (n === 4) p.targetGroup = int32(v);
    else if (n === 5) p.sender = int32(v);
    else if (n === 1001) p.number = Number(v);
    else if (n === 1002) p.ack = Number(v);
  }
  p.name = names.get(p.opCode) || "";
  describe(p, inner);
  p.control = p.name === "ping" || p.name === "ping answer" || p.name === "ack";
  return p;
}

// describe says what a packet of the protocol itself is about. Ids and tokens are not shown: who has one can take the seat.
function describe(p, inner) {
  const of = () => integers(inner);
  if (p.command === 30) {
    const seen = Number(of().get(1003) ?? 0n);
    [p.name, p.about, p.acksAll] = ["login", seen ? `again; has received up to number ${seen}` : "", seen];
  } else if (p.command === 31) {
    const m = of();
    const seen = Number(m.get(1002) ?? 0n);
    p.acksAll = seen;
    p.about = m.get(1) ? `accepted as peer ${int32(m.get(3) ?? 0n)}` + (seen ? `; the host has received up to number ${seen}` : "") : "refused";
  } else if (p.command >= 40 && p.command <= 42) p.about = `group ${int32(of().get(1) ?? 0n)}`;
  else if (p.command === 43) {
    const peers = [];
    let group = 0;
    for (const [n, v] of fields(inner)) {
      if (n === 1 && typeof v === "bigint") group = int32(v);
      else if (n === 2) peers.push(...(typeof v === "bigint" ? [int32(v)] : numbers(v)));
    }
    p.about = `${group === -1 ? "all players" : "group " + group}: ${peers.length ? "peers " + peers.join(", ") : "nobody"}`;
  } else if (p.opCode === 0 && !p.command && !p.number && !p.payload.length) p.name = "ack";
}

// packetsMax bounds the packets that are kept, of all players together.
export const packetsMax = 500;

// Log keeps the newest packets of all players of a tab. Its listener is called when there are more, or when some were acknowledged.
export class Log {
  entries = []; // the oldest first
  changed = () => {};
  last = 0;

  add(entry) {
    entry.serial = ++this.last;
    entry.at = new Date();
    this.entries.push(entry);
    if (this.entries.length > packetsMax) this.entries.shift();
    this.changed();
  }

  clear() {
    this.entries = [];
    this.changed();
  }
}

// watched returns a class of WebSockets that reports to a log what goes over them, for one player, and then calls changed: it
// is the option WebSocket of the client, which works as with any other.
export function watched(log, player, changed) {
  const ways = { out: { highest: 0, acked: 0, waiting: [] }, in: { highest: 0, acked: 0, waiting: [] } };
  const acked = (way, upTo) => {
    if (upTo <= way.acked) return;
    way.acked = upTo;
    way.waiting = way.waiting.filter((e) => {
      if (e.number > upTo) return true;
      e.acked = true;
      return false;
    });
  };
  const note = (way, data) => {
    const bytes = data instanceof ArrayBuffer ? new Uint8Array(data) : data;
    let p;
    try {
      p = decode(bytes);
    } catch (e) {
      log.add({ player, way, event: "A packet that cannot be read: " + e.message });
      return;
    }
    p.payloadSize = p.payload.length;
    p.payload = p.payload.slice(0, 256); // the rest is not shown
    const mine = ways[way];
    const entry = { ...p, player, way, again: p.number > 0 && p.number <= mine.highest, acked: p.number > 0 && p.number <= mine.acked };
    mine.highest = Math.max(mine.highest, p.number);
    if (p.number && !entry.acked) {
      if (entry.again) mine.waiting = mine.waiting.filter((e) => e.number !== p.number);
      mine.waiting.push(entry);
      if (mine.waiting.length > packetsMax) mine.waiting.shift();
    }
    acked(ways[way === "in" ? "out" : "in"], Math.max(p.ack, p.acksAll));
    log.add(entry);
    changed();
  };
  class Watched extends WebSocket {
    constructor(url) {
      super(url);
      this.addEventListener("open", () => log.add({ player, event: "Connected to " + url }));
      this.addEventListener("message", (e) => note("in", e.data));
      this.addEventListener("close", (e) => log.add({ player, event: e.code === 4900 ? "Connection closed here, without a leave" : `Connection closed: ${e.code} ${e.reason}`.trim() }));
    }

    send(data) {
      super.send(data);
      note("out", data);
    }
  }
  return { Watched, unacknowledged: () => ways.out.waiting.length };
}
