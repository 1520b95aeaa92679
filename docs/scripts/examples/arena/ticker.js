'use strict';

const MAKE_UP_MAX = 5; // ticks; a host that was away longer has lost that time

// Ticker calls tick every interval milliseconds, counted from its start: a late
// timer is made up for, so the rate holds and nothing drifts.
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
    const late = now() - this.due;
    if (late > MAKE_UP_MAX * this.interval) {
      this.due = now();
    }
    while (this.timer !== null && this.due <= now()) {
      this.due += this.interval;
      this.tick();
    }
    if (this.timer !== null) {
      this.timer = setTimeout(() => this.wake(), Math.max(1, this.due - now()));
    }
  }
}

// now is in milliseconds and never goes back, as Date does when clocks are set.
function now() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

exports.Ticker = Ticker;
