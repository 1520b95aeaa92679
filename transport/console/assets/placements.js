// placements.js: placements, and one of them.
import { h, show, time, badge, table, facts, clip, filters, words, choice } from "./dom.js";
import { get, act, mayAct, ofNodes } from "./api.js";
import { ask } from "./dialog.js";
import { every } from "./refresh.js";
import { linkTo } from "./gamesessions.js";

const toPlacement = (id) => h("a", { href: "#/placement?id=" + encodeURIComponent(id) }, clip(id));

// cancel asks, and is nothing for a placement that has ended or whoever may only look.
const cancel = (p, done) => (p.status !== "PENDING" || !mayAct() ? "" : h("button", {
  type: "button", class: "quiet danger", "aria-label": "Cancel placement " + p.id, onclick: () => ask({
    title: "Cancel this placement?", confirm: "Cancel the placement", text: `${p.id} gets no game session.`,
    run: async () => { await act("POST", "placement/cancel", { id: p.id }); done(); },
  }),
}, "Cancel"));

export function placements(body, query, page) {
  const id = words("placement", "", "my-placement");
  const queue = words("queue", query.get("queue") || "", "queue-dev");
  const status = choice("status", query.get("status") || "any", [["any"], ["PENDING"], ["FULFILLED"], ["CANCELLED"], ["TIMED_OUT"], ["FAILED"]]);
  const list = h("div", {});
  const search = () => {
    if (id.value.trim()) {
      location.hash = "#/placement?id=" + encodeURIComponent(id.value.trim());
      return;
    }
    page.remember({ queue: queue.value.trim(), status: status.value });
    timer.now();
  };
  status.addEventListener("change", search);
  show(body, filters([["Placement id", id], ["Queue", queue], ["Status", status]], search),
    h("p", { class: "hint" }, "The newest 100. A placement id leads to that placement, however old it is, while the host remembers it."), list);
  const load = async () => {
    const { placements: all } = await get("placements", { queue: queue.value.trim(), status: status.value, limit: 100 });
    const columns = [
      ["Placement", (p) => toPlacement(p.id)], ["Status", (p) => badge(p.status)],
      ["Why it waits, or waited last", (p) => (p.ended && p.waits ? h("span", { class: "none" }, p.waits) : p.waits), "wide"],
      ["Queue", (p) => clip(p.queue)],
      ["Players", (p) => `${p.players} / ${p.maxPlayers}`, "number"],
      ["Game session", (p) => (p.gameSessionId ? linkTo(p.gameSessionId) : "")],
      ["Location", (p) => p.location], ...ofNodes(["Node", (p) => p.node]), ["Started", (p) => time(p.started)], ["Ended", (p) => (p.ended ? time(p.ended) : p.timesOut ? h("span", { class: "none" }, "times out ", time(p.timesOut)) : "")],
    ];
    if (mayAct()) columns.push(["Action", (p) => cancel(p, timer.now), "acts"]);
    show(list, table("Placements, the newest first", columns, all, queue.value.trim() || status.value !== "any" ? "No placement matches." : "There is no placement. StartGameSessionPlacement makes one."));
  };
  const timer = every(2000, load, page.problem, list);
  return timer.stop;
}

export function placement(body, query, page) {
  const id = query.get("id") || "";
  page.title(id);
  const load = async () => {
    const p = await get("placement", { id });
    show(body, h("section", { class: "panel" },
      p.waits ? h("p", { class: "says" }, (p.ended ? "It waited last: " : "It waits: ") + p.waits) : null,
      facts([
        ["Status", badge(p.status)],
        ["Queue", h("a", { href: "#/placements?queue=" + encodeURIComponent(p.queue) }, p.queue)],
        ["Players", `${p.players}, of at most ${p.maxPlayers}`],
        ["Game session", p.gameSessionId ? linkTo(p.gameSessionId) : ""],
        ["Location", p.location], ...ofNodes(["Node", p.node]),
        ["Started", time(p.started)],
        p.ended ? ["Ended", time(p.ended)] : ["Times out", time(p.timesOut)],
      ]), h("div", { class: "actions" }, cancel(p, timer.now))));
  };
  const timer = every(2000, load, page.problem, body);
  return timer.stop;
}
