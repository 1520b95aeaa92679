'use strict';
const waits = plots.data.waits || [];
const step = Math.max(1, Math.floor(waits.length / 500));
const at = waits.map((_, i) => i).filter((i) => i % step === 0 || i === waits.length - 1);
const curve = new Map(at.map((i) => [waits[i], 100 * (i + 1) / waits.length]));
plots.draw('waits', 'Share of matched tickets by wait', plots.axis('wait in s'), plots.axis('%'),
  [{ name: 'matched, %', x: [...curve.keys()], y: [...curve.values()], colour: plots.colours[1] }], {});
