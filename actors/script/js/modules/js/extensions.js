// What require.extensions has at first. The engine loads scripts and JSON by itself,
// whatever is put there for them.
const load = () => (module, filename) => { module.exports = binding.load(filename); };
module.exports = {
  '.js': load(), '.json': load(),
  '.node': (module, filename) => {
    const e = new Error(`Cannot load ${filename}: the embedded engine does not have native modules; to run the script in Node.js, set "troupe": {"engine": "node"} in package.json`);
    e.code = 'ERR_DLOPEN_FAILED';
    throw e;
  },
};
