'use strict';
// What the scripts of the pages share: it draws plots from the data in the page. Nothing is loaded.
const plots = (() => {
  const dark = matchMedia('(prefers-color-scheme: dark)').matches;
  const ink = dark ? '#cccccc' : '#333333';
  const faint = dark ? '#3a3a3a' : '#e6e6e6';
  const drawn = [];

  const axis = (label, values) => ({ label, values, stroke: ink, grid: { stroke: faint }, ticks: { stroke: faint } });
  const short = (n) => n >= 1e6 ? n / 1e6 + 'M' : n >= 1e3 ? n / 1e3 + 'k' : String(n);
  const ms = (n) => n === null || n === undefined ? '' : n >= 100 ? n.toFixed(0) : n >= 1 ? n.toFixed(1) : n.toPrecision(2);

  // Series have x values of their own, joined to the one x that uPlot wants. options: x and y, the scales; xValue and value, for the
  // legend; points; height; more, what else uPlot takes.
  function draw(id, title, x, y, series, options) {
    const place = document.getElementById(id);
    series = series.filter((s) => s.x.length > 0);
    if (place === null || series.length === 0) {
      return;
    }
    const size = () => ({ width: Math.max(280, Math.min(place.clientWidth, 900)), height: options.height || 320 });
    const value = options.value || ms;
    const plot = new uPlot({
      ...size(), title,
      scales: { x: { time: false, ...options.x }, y: { ...options.y } },
      axes: [x, { size: 64, ...y }],
      series: [{ label: x.label, value: (u, v) => v === null ? '' : (options.xValue || String)(v) }, ...series.map((s) => ({
        label: s.name, stroke: s.colour, width: 2, dash: s.dash, spanGaps: true, points: { show: options.points === true },
        value: (u, v) => v === null ? '' : value(v), ...s.more,
      }))],
      ...options.more,
    }, uPlot.join(series.map((s) => [s.x, s.y])), place);
    drawn.push([plot, size]);
  }

  addEventListener('resize', () => drawn.forEach(([plot, size]) => plot.setSize(size())));
  addEventListener('load', () => { document.documentElement.dataset.plots = String(drawn.length); }); // for the tests of the pages
  return {
    data: JSON.parse(document.getElementById('data').textContent), ink, faint, axis, short, ms, draw,
    colours: ['#777777', '#0b62c4', '#d9822b', '#2e8b57', '#a83279', '#8a6d00', '#c0392b', '#16a0a0'],
  };
})();
