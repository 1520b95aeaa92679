// actions.js: what an operator does to a player, wherever the player is shown.
import { act } from "./api.js";
import { ask } from "./dialog.js";

const reason = { id: "reason", label: "Reason, for the log of the game", max: "256" };
const spans = [["600", "10 minutes"], ["3600", "1 hour"], ["86400", "1 day"], ["604800", "7 days"], ["2592000", "30 days"], ["31536000", "1 year"]];

// kick removes a player from one game session, or from all without one.
export const kick = (player, gameSession, done) => ask({
  title: `Kick ${player}?`, confirm: "Kick", fields: [reason],
  text: `The player loses its seat in ${gameSession ? "this game session" : "every game session"}. Your backend may let it in again.`,
  run: async (said) => { await act("POST", "players/kick", { player, gameSession, ...said }); done(); },
});

// ban keeps a player out; without a player it asks for one.
export const ban = (player, done) => ask({
  title: player ? `Ban ${player}?` : "Ban a player", confirm: "Ban",
  text: "The player is removed from all game sessions and kept out of them, also after a restart of the host.",
  fields: [...(player ? [] : [{ id: "player", label: "Player id", max: "1024", required: true }]), { id: "seconds", label: "For", value: "3600", options: spans }, reason],
  run: async (said) => { await act("POST", "bans", { player, ...said }); done(); },
});

export const lift = (player, done) => ask({
  title: `Lift the ban of ${player}?`, confirm: "Lift", harmless: true, text: "The player may log in again at once.",
  run: async () => { await act("DELETE", "bans", { player }); done(); },
});
