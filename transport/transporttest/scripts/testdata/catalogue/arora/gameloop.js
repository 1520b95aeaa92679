// The smallest loop there is.
exports.setGameLoop = function (update, ms) {
    let before = process.hrtime();
    return setInterval(function () {
        const gone = process.hrtime(before);
        before = process.hrtime();
        update(gone[0] + gone[1] / 1e9);
    }, ms);
};
