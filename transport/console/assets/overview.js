// overview.js: the first page, live.
import { h, show, number, brief, bytes, duration, facts, without } from "./dom.js";
import { stream, listen } from "./api.js";

const width = 240;
const height = 48;

// plot draws the last values as a line.
function plot(values) {
  const most = Math.max(...values, 1) * 1.25;
  const step = width / Math.max(values.length - 1, 1);
  const points = values.map((v, i) => `${(i * step).toFixed(1)},${(height - 2 - (v / most) * (height - 6)).toFixed(1)}`).join(" ");
  return h("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    h("path", { d: `M0,${height} L${points.replaceAll(" ", " L")} L${width},${height} Z` }),
    h("polyline", { points, fill: "none", "vector-effect": "non-scaling-stroke" }));
}

const refused = "refused_by_handler";

const sum = (all) => Object.values(all).reduce((a, b) => a + b, 0);

function card(title, value, note, values) {
  return h("section", { class: "card", "aria-label": title },
    h("h2", {}, title), h("p", { class: "value" }, value), h("p", { class: "note" }, note), values && values.length > 1 ? plot(values) : h("div", { class: "plot" }));
}

export function overview(body) {
  const draw = () => {
    const o = stream.overview;
    if (!o) {
      show(body, h("p", { class: "empty" }, "Waiting for the host…"));
      return;
    }
    const past = stream.history.filter((x) => x.rates);
    const r = o.rates || { messagesIn: 0, messagesDelivered: 0, bytesIn: 0, bytesOut: 0, logins: 0, resumes: 0, cpu: 0, apiRequests: 0, dropped: 0 };
    const per = (name) => past.map((x) => x.rates[name]);
    const recent = o.recent || { seconds: 0, latency: {} };
    const took = (what, part) => {
      const whole = duration(o.latency[what][part]);
      return recent.latency[what] && o.latency[what].count > 0 ? `${duration(recent.latency[what][part])} (${whole})` : whole;
    };
    const slowest = o.nodes > 1 ? " Of the slowest node." : "";
    const p = o.players;
    const g = o.gameSessions;
    const connections = Object.entries(o.connections).filter(([, n]) => n > 0).map(([k, n]) => `${number(n)} ${k}`).join(", ");
    show(body,
      without(o.silentNodes),
      h("div", { class: "cards" },
        card("Players", number(p.attached), `${number(p.detached)} detached · ${number(p.reserved)} reserved`, stream.history.map((x) => x.players.attached)),
        card("Game sessions", number(g.ACTIVE ?? g.active ?? 0), `${number(sum(g))} in all states`, stream.history.map((x) => x.gameSessions.ACTIVE ?? x.gameSessions.active ?? 0)),
        card("Messages in", brief(r.messagesIn) + " /s", bytes(r.bytesIn) + "/s", per("messagesIn")),
        card("Messages delivered", brief(r.messagesDelivered) + " /s", bytes(r.bytesOut) + "/s", per("messagesDelivered")),
        card("Processor", (r.cpu * 100).toFixed(1) + " %", `of one; ${o.nodes > 1 ? `the ${o.nodes} nodes have` : "the host has"} ${o.process.processors}`, per("cpu")),
        card("Memory", bytes(o.process.residentBytes || o.process.heapBytes), `${bytes(o.process.heapBytes)} heap`, stream.history.map((x) => x.process.residentBytes || x.process.heapBytes))),
      h("div", { class: "columns" },
        h("section", { class: "panel" }, h("h2", {}, "Since the start"), facts([
          [o.node ? `Node ${o.node} running for` : "Running for", duration(o.uptimeSeconds)],
          ["Messages in", number(o.totals.messagesIn)],
          ["Messages delivered", number(o.totals.messagesDelivered)],
          ["Logins", number(o.totals.logins)],
          ["Resumed after a cut", number(o.totals.resumes)],
          ["Service API calls", `${number(o.totals.apiRequests)}, ${number(o.totals.apiErrors)} with an error`],
        ])),
        h("section", { class: "panel" }, h("h2", {}, "Trouble"), facts([
          ["Reliable messages lost", number(o.totals.lost)],
          ["Refused by the game's script", number(o.drops[refused] || 0)],
          ["Packets dropped", number(o.totals.dropped - (o.drops[refused] || 0))],
          ...Object.entries(o.drops).filter(([why]) => why !== refused).sort(([, a], [, b]) => b - a).slice(0, 4).map(([why, n]) => [why.replaceAll("_", " "), number(n)]),
          ["Slow players", number(o.totals.slowConsumers)],
          ["Script errors", number(o.totals.scriptErrors)],
          ["Actor panics", number(o.totals.actorPanics)],
          ["Connections", connections || "none"],
        ])),
        h("section", { class: "panel" }, h("h2", {}, "Time, at most"),
          h("p", { class: "hint" }, recent.seconds ? `Of the last ${duration(recent.seconds)}; in brackets since the start of the host.${slowest}` : `Since the start of the host.${slowest}`), facts([
            ["Login, half of them", took("login", "p50Seconds")],
            ["Login, 99 %", took("login", "p99Seconds")],
            ["Resume, half of them", took("resume", "p50Seconds")],
            ["Resume, 99 %", took("resume", "p99Seconds")],
            ["Store commit, half of them", took("storeCommit", "p50Seconds")],
            ["Store commit, 99 %", took("storeCommit", "p99Seconds")],
            ["Placement, half of them", took("placement", "p50Seconds")],
            ["Placement, 99 %", took("placement", "p99Seconds")],
          ]))));
  };
  draw();
  return listen((what) => what === "overview" && draw());
}
