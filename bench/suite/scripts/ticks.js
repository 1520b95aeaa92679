'use strict';
// A small game with ticks: 20 times a second it moves eight entities and sends all of them to everybody. An input of a
// player turns an entity.
const tickMs = 50;
const width = 1000;
const entities = [];
let session;
let number = 0;

function init(s) {
    session = s;
    for (let i = 0; i < 8; i++) {
        entities.push({ id: i, x: i * 100, y: i * 50, vx: 40 + i, vy: 30 - i });
    }
}

function tick() {
    for (const e of entities) {
        e.x += e.vx * tickMs / 1000;
        e.y += e.vy * tickMs / 1000;
        if (e.x < 0 || e.x > width) {
            e.vx = -e.vx;
        }
        if (e.y < 0 || e.y > width) {
            e.vy = -e.vy;
        }
    }
    number++;
    const state = session.newTextGameMessage(7, session.getServerId(), JSON.stringify({ number, entities }));
    session.sendReliableGroupMessage(state, session.getAllPlayersGroupId());
}

exports.ssExports = {
    init,
    onProcessStarted: () => true,
    onStartGameSession: () => { setInterval(tick, tickMs); },
    onPlayerConnect: () => true,
    onMessage: (message) => {
        const e = entities[message.payload[0] % entities.length];
        [e.vx, e.vy] = [-e.vy, e.vx];
    },
    onProcessTerminate: () => { session.processEnding().then(() => process.exit(0)); },
};
