'use strict';

// An interval comes near the time of a tick, setImmediate hits it.

const loops = new Map();
let count = 0;

function nanoseconds() {
    const t = process.hrtime();
    return t[0] * 1e9 + t[1];
}

module.exports.start = function (update, ms) {
    const id = ++count;
    const step = ms * 1e6;
    let last = nanoseconds();
    let near = false;
    function look() {
        near = false;
        if (!loops.has(id)) {
            return;
        }
        const gone = nanoseconds() - last;
        if (gone >= step) {
            last += gone;
            update(gone / 1e9);
        } else if (step - gone < 2e6 && !near) {
            near = true;
            setImmediate(look);
        }
    }
    loops.set(id, setInterval(look, Math.max(1, ms / 2)));
    return id;
};

module.exports.stop = function (id) {
    clearInterval(loops.get(id));
    loops.delete(id);
};
