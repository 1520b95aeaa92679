// Halves of surrogate pairs, alone and not.
const util = require('util');
for (const s of ['', 'a', '💩', 'a💩b', '\ud83d', '\udca9', 'a\ud83db', '\udca9\ud83d', '💩\ud83d💩', '\ud83d💩', '💩\udca9', '👍🏽❤️', '\ud83d\ud83d\udca9\udca9']) {
  console.log(s.isWellFormed(), s.toWellFormed(), util.toUSVString(s), new URLSearchParams({ [s]: s }).toString());
  console.log(new URL('http://example.com/' + s + '?' + s + '#' + s).href, Buffer.from(s).toString('hex'), JSON.stringify(s), [s]);
}
