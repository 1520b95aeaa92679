module.exports = binding;
