'use strict';
// The frames between the host and this process (frame.go).

const fs = require('fs'), net = require('net'), timers = require('timers');

const IN = 3, OUT = 4;
const FLUSH_BYTES = 16 << 10;

const ACK = 1;     // the kind of a frame
const ACK_MS = 50; // how long the host waits for one when there is nothing else to write

const really = process.reallyExit, queueMicrotask = globalThis.queueMicrotask, now = performance.now.bind(performance);
const { setImmediate, setTimeout } = timers;

// Frames to the host are gathered and written at once, synchronously: when process.exit
// comes, they are out.

let out = Buffer.allocUnsafe(FLUSH_BYTES * 2);
let used = 0, at = 0;
let held = false, scheduled = false, acking = false;
let handled = 0, flushed = 0; // frames since the last ack; when was written

// pace is how many ms frames are gathered after a write. 0: they are written when the script's code is through;
// otherwise at the end of the turn of the event loop, or when the time is over.
exports.pace = 0;

// hold puts writing off until settled.
exports.hold = () => { held = true; };

// settled counts a frame of the host as handled; the last one that has come ends hold. The host is told at once, or with the next frames.
exports.settled = function settled(last, long) {
  handled++;
  if (last) held = false;
  if (long || last && exports.pace === 0) flush();
  else if (last && used > 0) schedule();
  else if (last && !acking) {
    acking = true;
    setTimeout(() => { acking = false; flush(); }, ACK_MS);
  }
};

function room(n) {
  if (used + n <= out.length) return;
  const larger = Buffer.allocUnsafe(Math.max(out.length * 2, used + n));
  out.copy(larger, 0, 0, used);
  out = larger;
}

exports.begin = function begin(game, kind, size) {
  room(size + 9);
  at = used;
  used = out.writeUInt32LE(game, used + 4);
  out[used++] = kind;
};
exports.u8 = v => { out[used++] = v; };
exports.u32 = v => { used = out.writeUInt32LE(v >>> 0, used); };
exports.i32 = v => { used = out.writeInt32LE(v | 0, used); };
exports.rest = bytes => {
  out.set(bytes, used);
  used += bytes.length;
};
exports.end = function end() {
  out.writeUInt32LE(used - at - 4, at);
  if (used >= FLUSH_BYTES) flush();
  else if (!held) schedule();
};

function schedule() {
  if (scheduled) return;
  scheduled = true;
  if (exports.pace === 0) {
    queueMicrotask(flush);
    return;
  }
  const left = flushed + exports.pace - now();
  if (left > 0) setTimeout(flush, left);
  else setImmediate(flush);
}

const cell = new Int32Array(new SharedArrayBuffer(4));

exports.flush = flush;
function flush() {
  scheduled = false;
  if (handled > 0) {
    const n = handled;
    handled = 0;
    exports.begin(0, ACK, 4);
    exports.u32(n);
    out.writeUInt32LE(used - at - 4, at);
  }
  if (used === 0) return;
  let from = 0;
  while (from < used) {
    try {
      from += fs.writeSync(OUT, out, from, used - from);
    } catch (error) {
      if (error.code !== 'EAGAIN') really.call(process, 1); // nobody is there any more
      Atomics.wait(cell, 0, 0, 1);
    }
  }
  used = 0;
  flushed = now();
  if (out.length > FLUSH_BYTES * 4) out = Buffer.allocUnsafe(FLUSH_BYTES * 2);
}

exports.Reader = class Reader {
  constructor(bytes, at, Bytes) { this.b = bytes; this.at = at; this.Bytes = Bytes; }
  u8() { return this.b[this.at++]; }
  u32() { const v = this.b.readUInt32LE(this.at); this.at += 4; return v; }
  i32() { const v = this.b.readInt32LE(this.at); this.at += 4; return v; }
  text() { const n = this.u32(), v = this.b.toString('utf8', this.at, this.at + n); this.at += n; return v; }
  restText() { return this.b.toString('utf8', this.at); }
  rest() {
    const copy = new this.Bytes(this.b.length - this.at);
    copy.set(this.b.subarray(this.at));
    return copy;
  }
};

// listen calls frame(bytes) for each frame that comes, and end() after those of one read.
exports.listen = function listen(frame, end) {
  const socket = new net.Socket({ fd: IN, readable: true, writable: false });
  let front = null; // of a frame
  socket.on('data', chunk => {
    if (front) chunk = Buffer.concat([front, chunk]);
    let from = 0;
    while (chunk.length - from >= 4) {
      const n = chunk.readUInt32LE(from);
      if (chunk.length - from < 4 + n) break;
      frame(chunk.subarray(from + 4, from + 4 + n));
      from += 4 + n;
    }
    front = from < chunk.length ? chunk.subarray(from) : null;
    if (from > 0) end();
  });
  socket.on('close', () => really.call(process, 1)); // the host is gone
  socket.on('error', () => really.call(process, 1));
};
