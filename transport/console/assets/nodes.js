// nodes.js: the hosts of a cluster.
import { h, show, number, duration, time, badge, table } from "./dom.js";
import { get, act, mayAct } from "./api.js";
import { ask } from "./dialog.js";
import { every } from "./refresh.js";

const forget = (n, then) => ask({
  title: `Forget ${n.name}?`, confirm: "Forget", run: async () => { await act("POST", "nodes/forget", { id: n.name }); then(); },
  text: "It is declared lost at once: its game sessions are TERMINATED. If it still runs, its players lose their games.",
});

const drain = (n, then) => ask({
  title: `Drain ${n.name}?`, confirm: "Drain", run: async () => { await act("POST", "drain", { node: n.name }); then(); },
  text: "It takes no new game sessions, another node leads, and it exits when its game sessions have ended. You can cancel it until the grace is over.",
});

const resume = (n, then) => ask({
  title: `Cancel the drain of ${n.name}?`, confirm: "Cancel the drain", harmless: true, run: async () => { await act("DELETE", "drain", { node: n.name }); then(); },
  text: "It takes game sessions and players again.",
});

export function nodes(body, _query, page) {
  const button = (n, name, run, kind = "danger quiet") => h("button", { type: "button", class: kind, "aria-label": `${name} ${n.name}`, onclick: run }, name);
  const acts = (n) => {
    if (n.state === "adrift" || n.state === "suspect") return button(n, "Forget", () => forget(n, timer.now));
    if (n.state !== "live") return "";
    return n.draining ? button(n, "Cancel the drain", () => resume(n, timer.now), "quiet") : button(n, "Drain", () => drain(n, timer.now));
  };
  const columns = (all) => [
    ["Node", (n) => n.name],
    ["State", (n) => h("span", {}, badge(n.state), n.draining ? h("span", { class: "badge warn" }, "draining") : null, n.leads ? h("span", { class: "badge busy" }, "leads") : null)],
    ...(all.some((n) => n.why) ? [["Why", (n) => n.why, "wide"]] : []),
    ["Game sessions", (n) => number(n.gameSessions), "number"],
    ["Players", (n) => number(n.players), "number"],
    ["Room", (n) => number(n.room), "number"],
    ["Lag", (n) => (n.lagSeconds === null ? "" : duration(n.lagSeconds)), "number"],
    ["Since", (n) => time(n.since)],
    ["Locations", (n) => n.locations.join(", ") || "all"],
    ["Version", (n) => n.version],
    ["Address", (n) => h("code", {}, n.address)],
    ...(mayAct() ? [["Action", acts, "acts"]] : []),
  ];
  const list = h("div", {});
  show(body, h("p", { class: "hint" }, "Room is how many game sessions can start now. Lag is how late a node hears of changes in etcd."), list);
  const load = async () => {
    const all = (await get("nodes")).nodes;
    show(list, table("Nodes", columns(all), all, "This host has no cluster."));
  };
  const timer = every(2000, load, page.problem, list);
  return timer.stop;
}
