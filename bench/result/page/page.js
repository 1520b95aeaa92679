'use strict';
// Draws the plots of the page from the data in it. Nothing is loaded.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const colours = ['#777777', '#0b62c4', '#d9822b', '#2e8b57', '#a83279', '#8a6d00', '#c0392b', '#16a0a0'];
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const ink = dark ? '#cccccc' : '#333333';
  const faint = dark ? '#3a3a3a' : '#e6e6e6';
  const plots = [];

  const axis = (label, values) => ({ label, values, stroke: ink, grid: { stroke: faint }, ticks: { stroke: faint } });
  const short = (n) => n >= 1e6 ? n / 1e6 + 'M' : n >= 1e3 ? n / 1e3 + 'k' : String(n);
  const ms = (n) => n === null || n === undefined ? '' : n >= 100 ? n.toFixed(0) : n >= 1 ? n.toFixed(1) : n.toPrecision(2);

  // Several series with x values of their own, joined to the one x that uPlot wants.
  function joined(series) {
    return uPlot.join(series.map((s) => [s.x, s.y]));
  }

  function draw(id, title, x, y, series, options) {
    const place = document.getElementById(id);
    series = series.filter((s) => s.x.length > 0);
    if (place === null || series.length === 0) {
      return;
    }
    const size = () => ({ width: Math.max(280, Math.min(place.clientWidth, 900)), height: 320 });
    const plot = new uPlot({
      ...size(), title,
      scales: { x: { time: false, ...options.x }, y: { ...options.y } },
      axes: [x, { ...y, size: 64 }],
      series: [{ label: x.label, value: (u, v) => v === null ? '' : (options.xValue || String)(v) }, ...series.map((s) => ({
        label: s.name, stroke: s.colour, width: 2, dash: s.dash, spanGaps: true, points: { show: options.points === true },
        value: (u, v) => v === null ? '' : ms(v),
      }))],
    }, joined(series), place);
    plots.push([plot, size]);
  }

  // Percentiles are drawn by the number of nines, so that the tail has room.
  const nines = (share) => -Math.log10(1 - share);
  const percentile = (n) => {
    const p = 100 * (1 - Math.pow(10, -n));
    return (n < 1 ? p.toFixed(0) : p.toFixed(Math.max(0, Math.ceil(n) - 2))) + ' %';
  };

  data.forEach((workload, w) => {
    const each = workload.subjects.map((s, i) => ({ ...s, colour: colours[i % colours.length] }));
    const last = (s) => s.rounds[s.rounds.length - 1];
    draw(`cdf-${w}`, 'Latency by percentile (last round)', axis('percentile', (u, v) => v.map(percentile)), axis('ms', (u, v) => v.map(ms)),
      each.map((s) => {
        const points = (last(s).latency_cdf || []).filter((p) => p.share < 1 && p.ms > 0);
        return { name: s.name, colour: s.colour, x: points.map((p) => nines(p.share)), y: points.map((p) => p.ms) };
      }), { y: { distr: 3 }, xValue: percentile });
    const time = (name, pick, title, unit, options) => draw(`${name}-${w}`, title, axis('s'), axis(unit, (u, v) => v.map(name === 'time' ? ms : short)),
      each.map((s) => {
        const moments = last(s).timeline || [];
        return { name: s.name, colour: s.colour, x: moments.map((m) => m.at_s), y: moments.map(pick) };
      }), { xValue: (v) => v.toFixed(1) + ' s', ...options });
    time('time', (m) => Math.max(m.p99_ms, 0.001), 'Latency p99 over time (last round)', 'ms', { y: { distr: 3 } });
    time('rate', (m) => m.per_s, 'Deliveries over time (last round)', 'per s', { y: { range: (u, low, high) => [0, high * 1.05 || 1] } });
    draw(`ramp-${w}`, 'Latency p99 against load (last round)', axis('deliveries per s', (u, v) => v.map(short)), axis('ms', (u, v) => v.map(ms)),
      each.map((s) => {
        const steps = (last(s).steps || []).filter((p) => p.p99_ms > 0).sort((a, b) => a.delivered_per_s - b.delivered_per_s);
        return { name: s.name, colour: s.colour, x: steps.map((p) => p.delivered_per_s), y: steps.map((p) => p.p99_ms) };
      }), { y: { distr: 3 }, points: true, xValue: short });
  });

  addEventListener('resize', () => plots.forEach(([plot, size]) => plot.setSize(size())));
  document.documentElement.dataset.plots = String(plots.length); // for the test of the page
})();
