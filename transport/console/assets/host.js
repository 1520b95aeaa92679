// host.js: listeners, the configuration, and what an operator does to the host.
import { h, show, number, duration, time, badge, table, facts, section, filters, words, choice, count } from "./dom.js";
import { get, act, take, mayAct } from "./api.js";
import { ask } from "./dialog.js";
import { every } from "./refresh.js";

const day = 86400000;

// ends shows the end of a certificate, and warns a month before.
function ends(text) {
  const left = (new Date(text) - Date.now()) / day;
  return h("span", {}, time(text), left < 30 ? h("span", { class: "badge " + (left < 7 ? "bad" : "warn") }, left < 0 ? "expired" : "soon") : null);
}

export function listeners(body, _query, page) {
  const load = async () => {
    const all = (await get("listeners")).listeners;
    show(body, table("Listeners", [
      ["Listener", (l) => l.name[0].toUpperCase() + l.name.slice(1)],
      ["Address", (l) => (l.address ? h("code", {}, l.address) : h("span", { class: "none" }, "off"))],
      ["Encryption", (l) => (l.address ? badge(l.encrypted ? "encrypted" : "none") : "")],
      ["Connections", (l) => (l.address && /WebSocket|KCP/.test(l.name) ? number(l.connections) : ""), "number"],
      ["Certificate for", (l) => l.certificate, "wide"],
      ["Certificate ends", (l) => (l.expires ? ends(l.expires) : "")],
    ], all, "No listener is open yet."));
  };
  return every(5000, load, page.problem, body).stop;
}

export function settings(body, query, page) {
  const filter = words("filter", query.get("filter") || "", "reconnect, or a value");
  const which = choice("which", query.get("which") || "all", [["all", "all"], ["set", "not the default"], ["reload", "taken over by a reload"]]);
  const list = h("div", {});
  let all = [];
  const draw = () => {
    const text = filter.value.trim().toLowerCase();
    const found = all.filter((s) => (which.value !== "set" || s.origin !== "default") && (which.value !== "reload" || s.reload)
      && (s.key + "\n" + s.value + "\n" + s.origin).toLowerCase().includes(text));
    show(list, count(found.length, "setting", "settings", found.length), table("Settings", [
      ["Key", (s) => h("code", {}, s.key)],
      ["Value", (s) => (s.value === "" ? h("span", { class: "none" }, "empty") : h("code", {}, s.value)), "wide"],
      ["From", (s) => (s.origin === "default" ? h("span", { class: "none" }, s.origin) : s.origin), "origin"],
      ["A reload takes it over", (s) => (s.reload ? "yes" : h("span", { class: "none" }, "no"))],
    ], found, "No setting matches."));
  };
  const search = () => { page.remember({ filter: filter.value.trim(), which: which.value }); draw(); };
  filter.addEventListener("input", search);
  which.addEventListener("change", search);
  show(body, filters([["Filter", filter], ["Show", which]], search),
    h("p", { class: "hint" }, "The configuration in force. Secrets are not shown."), list);
  const load = async () => { all = (await get("settings")).settings; draw(); };
  return every(10000, load, page.problem, list).stop;
}

// controls are fields with a button. Whoever may only look sees them switched off.
const controls = (fields, name, run) => h("form", { class: "controls", onsubmit: (e) => { e.preventDefault(); run(); } },
  h("fieldset", { disabled: !mayAct() }, fields.map(([label, field]) => h("span", { class: "field" }, h("label", { for: field.id }, label), field)), h("button", { type: "submit" }, name)));

export function operate(body, _query, page) {
  const level = choice("level", "info", [["debug"], ["info"], ["warn"], ["error"]]);
  const kind = choice("kind", "cpu", [["cpu", "Processor"], ["heap", "Memory in use"], ["allocs", "All allocations"], ["goroutine", "Goroutines"]]);
  const seconds = h("input", { id: "seconds", type: "number", min: "1", max: "120", value: "10", required: true });
  const says = h("p", { class: "note", role: "status" });
  const now = h("p", { class: "note" });
  const drain = h("div", {});
  const tell = (text) => { says.textContent = text; };
  kind.addEventListener("change", () => { seconds.disabled = kind.value !== "cpu"; });
  show(body,
    mayAct() ? null : h("p", { class: "notice" }, "This access key may look, and not act. One that may call every operation may do what is switched off here."),
    section("Log level", h("p", { class: "hint" }, "How much the host writes to its log, until its configuration is reloaded or it starts again."), now,
      controls([["Level", level]], "Set", async () => {
        await act("POST", "log-level", { level: level.value }).then(() => page.problem({}), page.problem);
        timer.now();
      })),
    section("Profile", h("p", { class: "hint" }, "Where processor time and memory go, for go tool pprof. It slows the host by a few percent while it is taken."),
      controls([["Of", kind], ["Seconds", seconds]], "Take and download", async () => {
        const cpu = kind.value === "cpu";
        tell(cpu ? `Taking a profile for ${seconds.value} s…` : "Taking a profile…");
        await take("profile", { kind: kind.value, seconds: cpu ? seconds.value : null }, `troupe-${kind.value}.pprof`)
          .then(() => { tell("Done: see your downloads."); page.problem({}); }, (e) => { tell(""); page.problem(e); });
      }), says),
    section("Drain", h("p", { class: "hint" }, "The host takes no new game sessions and players, and exits when its game sessions have ended, or when the grace is over."), drain));
  let configured = 0; // seconds
  const start = () => ask({
    title: "Drain this host?", confirm: "Drain", text: "It takes no new game sessions, and exits when those that run have ended. You can cancel it until the grace is over.",
    fields: [{ id: "grace", label: "Grace in minutes, after which those that still run are ended", type: "number", min: "0", most: "10080", step: "any", placeholder: `${configured / 60}, as drain.grace says` }],
    run: async ({ grace }) => { await act("POST", "drain", { grace: grace && grace * 60 + "s" }); timer.now(); },
  });
  const cancel = () => ask({ title: "Cancel the drain?", confirm: "Cancel the drain", harmless: true, text: "The host takes game sessions and players again.", run: async () => { await act("DELETE", "drain"); timer.now(); } });
  const load = async () => {
    const [l, d] = await Promise.all([get("log-level"), get("drain")]);
    configured = d.configured_grace_seconds;
    const text = "In force: " + l.level;
    if (now.textContent !== text) {
      now.textContent = text;
      level.value = l.level;
    }
    show(drain, facts([
      ["State", d.draining ? h("span", { class: "badge warn" }, "draining") : h("span", { class: "badge good" }, "takes game sessions")],
      ["Game sessions", number(d.game_sessions)], ["Players", number(d.players)], ["Of them detached", number(d.detached)],
      ...(d.draining ? [["Ends at the latest in", duration(d.grace_seconds)]] : []),
    ]), h("div", { class: "actions" }, d.draining
      ? h("button", { type: "button", class: "quiet", disabled: !mayAct(), onclick: cancel }, "Cancel the drain")
      : h("button", { type: "button", class: "danger quiet", disabled: !mayAct(), onclick: start }, "Drain this host")));
  };
  const timer = every(2000, load, page.problem, drain);
  return timer.stop;
}
