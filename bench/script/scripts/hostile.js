'use strict';
// What the first launch parameter says, over and over, soon after the start.
const ways = {
    loop() {
        for (;;) { }
    },
    allocation() {
        const hoard = [];
        for (;;) {
            hoard.push(new Array(1000).fill(hoard.length));
        }
    },
    finally() {
        for (;;) {
            try { for (;;) { } } finally { continue; }
        }
    },
    sort() {
        [3, 1, 2].sort(() => { for (;;) { } });
    },
    proxy() {
        Object.keys(new Proxy({}, { ownKeys() { for (;;) { } } }));
    },
    promises() {
        (function again() { Promise.resolve().then(again); })();
    },
    regexp() {
        for (;;) /^(a+)+$/.test('a'.repeat(5000) + 'b');
    },
    source() {
        for (;;) {
            try { eval('['.repeat(1e5)); } catch (e) { /* once more */ }
        }
    },
    json() {
        for (;;) {
            try { JSON.parse('['.repeat(1e5)); } catch (e) { /* once more */ }
        }
    },
    recursion() {
        const deeper = (n) => deeper(n + 1) + 1;
        for (;;) {
            try { deeper(0); } catch (e) { /* once more */ }
        }
    },
};
let way;

exports.ssExports = {
    init: () => { },
    onProcessStarted: (args) => {
        way = ways[args[0]];
        return way !== undefined;
    },
    onStartGameSession: () => { setTimeout(way, 100); },
    onPlayerConnect: () => true,
    onHealthCheck: () => true,
};
