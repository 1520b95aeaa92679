// matchmaking.js: configurations, the tickets that wait, and why one of them does.
import { h, show, number, duration, time, badge, table, facts, clip, section, filters, words, count, toPlayer, toTicket } from "./dom.js";
import { get } from "./api.js";
import { every } from "./refresh.js";
import { linkTo } from "./gamesessions.js";

export function matchmaking(body, query, page) {
  const name = query.get("configuration") || "";
  const ticket = words("ticket", "", "id of a ticket, also of one that has ended");
  const list = h("div", {});
  show(body, filters([["Ticket", ticket]], () => { if (ticket.value.trim()) location.hash = "#/ticket?id=" + encodeURIComponent(ticket.value.trim()); }), list);
  const load = async () => {
    const [{ configurations: all }, found] = await Promise.all([get("matchmaking"), get("matchmaking/tickets", { configuration: name, limit: 100 })]);
    show(list,
      section("Configurations", table("Configurations", [
        ["Configuration", (m) => h("a", { href: "#/matchmaking?configuration=" + encodeURIComponent(m.name) }, clip(m.name))],
        ["Rule set", (m) => clip(m.ruleSet)],
        ["Waiting", (m) => number(m.waiting), "number"],
        ["Longest wait", (m) => (m.longestTicket ? h("a", { href: "#/ticket?id=" + encodeURIComponent(m.longestTicket) }, duration(m.longestSeconds)) : ""), "number"],
        ["Accepting", (m) => number(m.accepting), "number"],
        ["Placing", (m) => number(m.placing), "number"],
        ["Completed", (m) => number(m.completed), "number"],
        ["Timed out", (m) => number(m.timedOut), "number"],
        ["Cancelled", (m) => number(m.cancelled), "number"],
        ["Failed", (m) => h("span", { class: m.failed ? "warn" : null }, number(m.failed)), "number"],
        ["Last search took", (m) => (m.lastPassSeconds ? duration(m.lastPassSeconds) : ""), "number"],
      ], all, "There is no matchmaking configuration. Your backend creates one with CreateMatchmakingConfiguration.")),
      section(name ? "Tickets of " + name : "Tickets", name ? h("p", { class: "hint" }, h("a", { href: "#/matchmaking" }, "Show those of all configurations")) : null,
        found.matched ? [count(found.matched, "ticket has not ended", "tickets have not ended", found.tickets.length), h("p", { class: "hint" }, "Its page says why a ticket waits. Those that have waited longest are first.")] : null,
        table("Tickets", [
          ["Ticket", (t) => toTicket(t.ticket)],
          ["Status", (t) => badge(t.status)],
          ["Waits for", (t) => time(t.started, true), "number"],
          ["Players", (t) => h("span", {}, t.players.slice(0, 4).flatMap((p, i) => [i ? ", " : "", toPlayer(p)]), t.players.length > 4 ? ` and ${t.players.length - 4} more` : "")],
          ["Configuration", (t) => clip(t.configuration)],
          ["Fills", (t) => (t.backfillFor ? linkTo(t.backfillFor) : "")],
          ["Match", (t) => clip(t.match, 16)],
        ], found.tickets, "No ticket waits.")));
  };
  return every(3000, load, page.problem, list).stop;
}

export function ticket(body, query, page) {
  const id = query.get("id") || "";
  page.title(id);
  const load = async () => {
    const t = await get("matchmaking/why", { ticket: id });
    show(body,
      h("section", { class: "panel" }, h("p", { class: "says" }, t.says), facts([
        ["Status", badge(t.status)],
        ["Configuration", h("a", { href: "#/matchmaking?configuration=" + encodeURIComponent(t.configuration) }, t.configuration)],
        ["Started", time(t.started)],
        ...(t.timesOut ? [["Times out", time(t.timesOut)]] : []),
        ...(t.searched ? [
          ["Other tickets", number(t.others) + (t.sampled < t.others ? `, ${number(t.sampled)} looked at` : "")],
          ["That fit, one by one", number(t.fitting)],
          ["Players of all that fit", number(t.players)],
          ["Players that a match needs", number(t.needed)],
          ["Will wait, by recent matches", t.estimatedSeconds === null ? "not known" : duration(t.estimatedSeconds)],
        ] : []),
      ])),
      t.searched ? section("What keeps other tickets from it", table("What keeps other tickets from it", [
        ["Rule", (b) => b.rule], ["Tickets", (b) => number(b.tickets), "number"], ["One of them", (b) => (b.example ? toTicket(b.example) : "")],
      ], t.blocked, "No rule keeps a ticket from it.")) : null,
      t.searched ? section("What changes next" + (t.nextSeconds === null ? "" : ", in " + duration(t.nextSeconds)), table("What changes next", [
        ["What", (n) => h("code", {}, n.target)], ["From", (n) => h("code", {}, n.from)], ["To", (n) => h("code", {}, n.to)],
      ], t.nextChanges, "No expansion of the rule set changes anything more for it.")) : null);
  };
  return every(3000, load, page.problem, body).stop;
}
