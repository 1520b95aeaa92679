'use strict';

const MAKE_UP_MAX = 5; // late ticks made up for at once; more are skipped, and the game slows down

// Ticker calls tick every interval milliseconds, counted from its start: it
// makes up for late timers, so the rate does not drift. If ticks take longer than the
// interval, messages and other timers still get their turn.
class Ticker {
  constructor(interval, tick) {
    this.interval = interval;
    this.tick = tick;
    this.timer = null;
    this.due = 0; // when the next tick should be
  }

  start() {
    this.due = now() + this.interval;
    this.timer = setTimeout(() => this.wake(), this.interval);
  }

  stop() {
    clearTimeout(this.timer);
    this.timer = null;
  }

  wake() {
    for (let made = 0; this.timer !== null && this.due <= now(); made += 1) {
      if (made === MAKE_UP_MAX) {
        this.due = now() + this.interval; // messages and other timers have a turn
        break;
      }
      this.due += this.interval;
      this.tick();
    }
    if (this.timer !== null) {
      this.timer = setTimeout(() => this.wake(), Math.max(1, this.due - now()));
    }
  }
}

// now returns milliseconds that never go back, unlike Date when the clock is set.
function now() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

exports.Ticker = Ticker;
