'use strict';
// Draws the plots of the results.
(() => {
  const { axis, colours, draw, ms, short } = plots;

  // Percentiles are drawn by the number of nines, so that the tail has room.
  const nines = (share) => -Math.log10(1 - share);
  const percentile = (n) => {
    const p = 100 * (1 - Math.pow(10, -n));
    return (n < 1 ? p.toFixed(0) : p.toFixed(Math.max(0, Math.ceil(n) - 2))) + ' %';
  };

  plots.data.forEach((workload, w) => {
    const each = workload.subjects.map((s, i) => ({ ...s, colour: colours[i % colours.length] }));
    const last = (s) => s.rounds[s.rounds.length - 1];
    draw(`cdf-${w}`, 'Latency by percentile (last round)', axis('percentile', (u, v) => v.map(percentile)), axis('ms', (u, v) => v.map(ms)),
      each.map((s) => {
        const points = (last(s).latency_cdf || []).filter((p) => p.share < 1 && p.ms > 0);
        return { name: s.name, colour: s.colour, x: points.map((p) => nines(p.share)), y: points.map((p) => p.ms) };
      }), { y: { distr: 3 }, xValue: percentile });
    const time = (name, pick, title, unit, options) => draw(`${name}-${w}`, title, axis('s'), axis(unit, (u, v) => v.map(name === 'time' ? ms : short)),
      each.map((s) => {
        const moments = (last(s).timeline || []).filter((m) => pick(m) !== null);
        return { name: s.name, colour: s.colour, x: moments.map((m) => m.at_s), y: moments.map(pick) };
      }), { xValue: (v) => v.toFixed(1) + ' s', ...options });
    time('time', (m) => m.p99_ms > 0 ? m.p99_ms : null, 'Latency p99 over time (last round)', 'ms', { y: { distr: 3 } });
    time('rate', (m) => m.per_s, 'Deliveries over time (last round)', 'per s', { y: { range: (u, low, high) => [0, high * 1.05 || 1] } });
    draw(`ramp-${w}`, 'Latency p99 against load (last round)', axis('deliveries per s', (u, v) => v.map(short)), axis('ms', (u, v) => v.map(ms)),
      each.map((s) => {
        const steps = (last(s).steps || []).filter((p) => p.p99_ms > 0).sort((a, b) => a.delivered_per_s - b.delivered_per_s);
        return { name: s.name, colour: s.colour, x: steps.map((p) => p.delivered_per_s), y: steps.map((p) => p.p99_ms) };
      }), { y: { distr: 3 }, points: true, xValue: short });
  });
})();
