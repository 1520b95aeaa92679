'use strict';
const waits = plots.data.waits || [];
const step = Math.max(1, Math.floor(waits.length / 500));
const at = waits.map((_, i) => i).filter((i) => i % step === 0 || i === waits.length - 1);
const curve = new Map(at.map((i) => [waits[i], 100 * (i + 1) / waits.length]));
plots.draw('waits', 'Share of matched tickets by wait', plots.axis('wait in s'), plots.axis('%'),
  [{ name: 'matched, %', x: [...curve.keys()], y: [...curve.values()], colour: plots.colours[1] }], {});
(plots.data.quality || []).forEach((rule, n) => {
  if (!rule.known) return;
  const share = new Map(rule.values.map((v, i) => [v, 100 * (i + 1) / rule.values.length]));
  const points = [...share].sort((a, b) => a[0] - b[0]);
  plots.draw('rule-' + n, 'Share of matches by what ' + rule.rule + ' sees', plots.axis(rule.lowWorse ? 'value (or higher)' : 'value (or lower)'), plots.axis('%'),
    [{ name: 'matches, %', x: points.map((p) => p[0]), y: points.map((p) => p[1]), colour: plots.colours[1] }], {});
});
