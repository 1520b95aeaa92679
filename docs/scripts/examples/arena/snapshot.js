'use strict';

// The formats of messages, all big-endian:
//   input     u16 number from 1, i8 dx, i8 dy
//   snapshot  u32 tick, then per body: u32 peer id, u16 last input (0: none yet), f32 x, f32 y

const INPUT_BYTES = 4;
const HEAD_BYTES = 4;
const BODY_BYTES = 14;

// readInput returns null for an invalid input: players may send anything.
exports.readInput = (bytes) => {
  if (bytes.length !== INPUT_BYTES) {
    return null;
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { number: view.getUint16(0), dx: view.getInt8(2), dy: view.getInt8(3) };
};

// write returns a snapshot. 32 bodies are 452 bytes: the fast channel takes 1200.
exports.write = (world) => {
  const bytes = new Uint8Array(HEAD_BYTES + world.size * BODY_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, world.number);
  let at = HEAD_BYTES;
  for (const body of world.bodies.values()) {
    view.setUint32(at, body.id);
    view.setUint16(at + 4, body.input === null ? 0 : body.input);
    view.setFloat32(at + 6, body.x);
    view.setFloat32(at + 10, body.y);
    at += BODY_BYTES;
  }
  return bytes;
};
