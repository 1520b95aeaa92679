module.exports = Object.freeze({});
