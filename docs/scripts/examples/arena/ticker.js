'use strict';

const MAKE_UP_MAX = 5; // ticks in one go; what is missing then is lost, and the game is slower

// Ticker calls tick every interval milliseconds, counted from its start: a late
// timer is made up for, so the rate holds and nothing drifts. If ticks take longer than
// the interval, everything else still gets its turn.
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

// now is in milliseconds and never goes back, as Date does when clocks are set.
function now() {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1000 + nanoseconds / 1e6;
}

exports.Ticker = Ticker;
