'use strict';
// Draws the time line of a run.
(() => {
  const { axis, data, draw, ms, short } = plots;
  const colours = {
    silence: '#5b6b7b', link: '#d9a441', reset: '#c0392b', handover: '#8e44ad', rebind: '#16a0a0', stall: '#b9770e', crash: '#7b241c',
    throttle: '#2471a3', 'disk-full': '#6c3483', 'disk-slow': '#a569bd', 'disk-read-only': '#7d8fd1',
    'disk-sync-fails': '#4a235a', memory: '#117a65', files: '#7d6608', hang: '#1e8449', restart: '#3b5bdb', kills: '#922b21', cut: '#34495e', revoke: '#af7ac5', restore: '#6e2c00',
  };
  const colour = (kind) => colours[kind];
  const away = '#e05a4e';
  for (const mark of document.querySelectorAll('[data-kind]')) {
    mark.style.background = mark.dataset.kind === 'away' ? away : colour(mark.dataset.kind);
  }

  // Durations are text, as Go writes them: 1m2.5s.
  const units = { h: 3600, m: 60, s: 1, ms: 1e-3, 'µs': 1e-6, ns: 1e-9 };
  const seconds = (text) => [...(text || '').matchAll(/([\d.]+)(h|ms|m|s|µs|ns)/g)].reduce((sum, [, n, unit]) => sum + n * units[unit], 0);
  const events = (data.events || []).map((e) => ({ ...e, from: seconds(e.at), to: seconds(e.at) + seconds(e.for) }));
  const moments = data.timeline || [];
  const absences = data.absences || [];
  if (moments.length === 0) {
    return;
  }
  const step = moments.length > 1 ? moments[1].at_s - moments[0].at_s : 0.1;
  const end = moments[moments.length - 1].at_s + step;
  const x = moments.map((m) => m.at_s);
  const scale = { range: [0, end] };
  const time = (v) => v.toFixed(2) + ' s';
  const ratio = devicePixelRatio || 1;

  // Faults are behind each plot: the more players have one, the darker.
  function behind(u) {
    const { left, top, width, height } = u.bbox;
    u.ctx.save();
    u.ctx.beginPath();
    u.ctx.rect(left, top, width, height);
    u.ctx.clip();
    for (const e of events) {
      const from = u.valToPos(e.from, 'x', true);
      const to = Math.max(u.valToPos(e.to, 'x', true), from + 1.5 * ratio);
      u.ctx.globalAlpha = e.player < 0 ? 0.3 : Math.max(0.02, (e.to > e.from ? 0.3 : 0.7) / data.players);
      u.ctx.fillStyle = colour(e.fault);
      u.ctx.fillRect(from, top, to - from, height);
    }
    u.ctx.restore();
  }
  const more = { padding: [12, 16, 4, 0], hooks: { drawClear: [behind] }, cursor: { sync: { key: 'time' }, drag: { x: false, y: false } } };

  // One lane for each player, and one for the host if it has faults.
  const lanes = data.players + (events.some((e) => e.player < 0) ? 1 : 0);
  const lane = (player) => player < 0 ? lanes - 1 : player;
  const high = Math.max(4, Math.min(18, 360 / lanes));
  function bars(u) {
    const one = u.bbox.height / lanes;
    const rect = (player, from, to, fill, share, alpha) => {
      const left = u.valToPos(from, 'x', true);
      const right = Math.max(u.valToPos(to, 'x', true), left + 2.5 * ratio);
      const middle = u.bbox.top + (lane(player) + 0.5) * one;
      u.ctx.globalAlpha = alpha;
      u.ctx.fillStyle = fill;
      u.ctx.fillRect(left, middle - one * share / 2, right - left, one * share);
    };
    u.ctx.save();
    for (const e of events.filter((e) => e.to > e.from)) {
      rect(e.player, e.from, e.to, colour(e.fault), e.fault === 'link' ? 0.8 : 0.6, e.fault === 'link' ? 0.45 : 0.9);
    }
    for (const a of absences) {
      rect(a.player, a.from_s, a.to_s, away, 0.22, 1);
    }
    for (const e of events.filter((e) => e.to === e.from)) {
      rect(e.player, e.from, e.from, colour(e.fault), 0.9, 1);
    }
    u.ctx.restore();
  }
  const every = Math.ceil(lanes / 20);
  const names = [...Array(lanes).keys()].filter((i) => i % every === 0 || i === data.players);
  const name = (i) => i === data.players ? 'host' : 'player ' + i;
  draw('lanes', 'Faults by player', axis('s'),
    { ...axis(''), splits: () => names.map((i) => i + 0.5), values: () => names.map(name), grid: { show: false }, ticks: { show: false } },
    [{ name: 'lane', x: [0, end], y: [0, 0], colour: 'transparent' }],
    { x: scale, y: { range: [0, lanes], dir: -1 }, height: lanes * high + 110, more: { ...more, hooks: { draw: [bars] }, legend: { show: false } } });

  const series = (label, stroke, pick, rest) => ({ name: label, colour: stroke, x, y: moments.map(pick), more: rest });
  const some = (m, v) => m.delivered > 0 ? Math.max(v, 0.05) : null;
  const gaps = { spanGaps: false };
  draw('latency', 'Latency of reliable messages, by the time they were sent', axis('s'), axis('ms', (u, v) => v.map((n) => n === null ? '' : short(n))), [
    series('p50', '#0b62c4', (m) => some(m, m.p50_ms), gaps), series('p99', '#d9822b', (m) => some(m, m.p99_ms), gaps),
  ], { x: scale, y: { distr: 3 }, xValue: time, value: (v) => ms(v) + ' ms', more });

  const whole = (u, v) => v.map((n) => Number.isInteger(n) ? short(n) : '');
  const stepped = { paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } };
  draw('attached', 'Players', axis('s'), axis('players', whole), [
    series('attached', '#2e8b57', (m) => m.attached, { ...stepped, fill: '#2e8b5722' }),
    series('detached', away, (m) => data.players - m.attached, stepped),
  ], { x: scale, y: { range: [0, data.players * 1.08] }, height: 220, xValue: time, value: String, more });

  const top = (u, low, most) => [0, Math.max(most, 4) * 1.1];
  const bar = (i) => ({ paths: uPlot.paths.bars({ size: [0.8, 12], align: 0 }), points: { show: false }, fill: null, ...i });
  const count = (label, stroke, pick) => series(label, stroke, (m) => pick(m) || null, bar({ fill: stroke + 'aa' }));
  draw('counts', 'Resumes, lost and duplicated messages', axis('s'), axis('in ' + (step * 1000).toFixed(0) + ' ms', whole), [
    count('resumes', '#2e8b57', (m) => m.resumes), count('lost', '#c0392b', (m) => m.lost), count('duplicated', '#a83279', (m) => m.duplicated),
  ], { x: scale, y: { range: top }, height: 220, xValue: time, value: String, more });

  const callbacks = [
    ['connect', 'onPlayerConnect', '#777777'], ['accepted', 'onPlayerAccepted', '#0b62c4'], ['detached', 'onPlayerDetached', '#d9822b'],
    ['reconnected', 'onPlayerReconnected', '#2e8b57'], ['disconnect', 'onPlayerDisconnect', '#c0392b'],
  ].filter(([key]) => moments.some((m) => m.callbacks && m.callbacks[key]));
  draw('callbacks', 'Callbacks of the script', axis('s'), axis('in ' + (step * 1000).toFixed(0) + ' ms', whole),
    callbacks.map(([key, label, stroke]) => count(label, stroke, (m) => m.callbacks && m.callbacks[key])),
    { x: scale, y: { range: top }, height: 220, xValue: time, value: String, more });
})();
