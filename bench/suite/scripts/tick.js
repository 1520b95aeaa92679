'use strict';
// Twenty ticks a second that move as many things as the launch parameter says, and how late each of them was: by how
// much it came more than 50 ms after the one before. Counts go to the log as often as the second launch parameter says, in
// milliseconds, as "ticks COUNT [...]" in steps of half a millisecond, the last for all above.
const stepMs = 0.5;
const steps = 100;
let session;
let late = new Array(steps + 1).fill(0);
let ticks = 0;
let last;
const things = [];
let count;
let every;

function now() {
    const t = process.hrtime();
    return t[0] * 1e3 + t[1] / 1e6;
}

function tick() {
    const t = now();
    if (last !== undefined) {
        const over = Math.max(0, t - last - 50);
        late[Math.min(steps, Math.floor(over / stepMs))]++;
        ticks++;
    }
    last = t;
    for (const thing of things) {
        thing.x += thing.dx * 0.05;
        thing.y += thing.dy * 0.05;
        if (thing.x < 0 || thing.x > 100) { thing.dx = -thing.dx; }
        if (thing.y < 0 || thing.y > 100) { thing.dy = -thing.dy; }
    }
}

function report() {
    session.getLogger().info('ticks ' + ticks + ' ' + JSON.stringify(late));
    late = new Array(steps + 1).fill(0);
    ticks = 0;
}

exports.ssExports = {
    init: (s) => { session = s; },
    onProcessStarted: (args) => {
        count = Number(args[0]);
        every = Number(args[1]);
        return true;
    },
    onStartGameSession: () => {
        for (let i = 0; i < count; i++) {
            things.push({ x: i, y: 2 * i, dx: 3 + i, dy: 7 - i });
        }
        // So that not all game sessions of a benchmark tick in the same millisecond.
        setTimeout(() => {
            setInterval(tick, 50);
            setInterval(report, every);
        }, Math.floor(Math.random() * every));
    },
    onPlayerConnect: () => true,
    onHealthCheck: () => true,
};
