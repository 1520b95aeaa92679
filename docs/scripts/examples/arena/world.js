'use strict';

// The simulation: no session, no clock, no randomness. The same inputs give the
// same world, so it can be tested, and run by a client that predicts.

class World {
  constructor({ width, height, speed, step }) {
    this.width = width;
    this.height = height;
    this.speed = speed; // units per second
    this.step = step; // seconds per tick
    this.number = 0; // of the last tick
    this.bodies = new Map(); // peer id -> body
  }

  get size() {
    return this.bodies.size;
  }

  add(id) {
    this.bodies.set(id, { id, x: this.width / 2, y: this.height / 2, dx: 0, dy: 0, input: null });
  }

  remove(id) {
    this.bodies.delete(id);
  }

  // input takes what a player presses from now on: a direction, any length.
  input(id, { number, dx, dy }) {
    const body = this.bodies.get(id);
    if (!body || (body.input !== null && !isNewer(number, body.input))) {
      return; // unknown, or overtaken on the fast channel
    }
    const length = Math.hypot(dx, dy);
    body.dx = length > 0 ? dx / length : 0;
    body.dy = length > 0 ? dy / length : 0;
    body.input = number;
  }

  // release lets go of all keys. The next input counts, whatever its number.
  release(id) {
    const body = this.bodies.get(id);
    if (body) {
      body.input = null;
      body.dx = 0;
      body.dy = 0;
    }
  }

  tick() {
    this.number += 1;
    const way = this.speed * this.step;
    for (const body of this.bodies.values()) {
      body.x = clamp(body.x + body.dx * way, this.width);
      body.y = clamp(body.y + body.dy * way, this.height);
    }
  }
}

// isNewer compares 16-bit numbers that wrap around.
function isNewer(a, b) {
  const ahead = (a - b) & 0xffff;
  return ahead !== 0 && ahead < 0x8000;
}

function clamp(value, max) {
  return Math.min(Math.max(value, 0), max);
}

exports.World = World;
