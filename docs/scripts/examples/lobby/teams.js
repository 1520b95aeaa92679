'use strict';

// The members of the teams, and who is ready. Methods return a problem, or null.
class Teams {
  constructor(ids, size) {
    this.ids = ids;
    this.size = size; // players per team
    this.players = new Map(); // peer id -> {id, name, team, ready}; team 0 is none
  }

  // The owner is the player who has been here longest.
  get owner() {
    const [first] = this.players.keys();
    return first;
  }

  add(id, name) {
    this.players.set(id, { id, name, team: 0, ready: false });
  }

  remove(id) {
    this.players.delete(id);
  }

  join(id, team) {
    const player = this.players.get(id);
    if (!this.ids.includes(team)) {
      return 'there is no such team';
    }
    if (player.team !== 0 && player.team !== team) {
      return 'leave your team first';
    }
    if (player.team === 0 && this.members(team).length >= this.size) {
      return 'the team is full';
    }
    player.team = team;
    return null;
  }

  leave(id, team) {
    const player = this.players.get(id);
    if (player.team !== team) {
      return 'you are not in that team';
    }
    player.team = 0;
    player.ready = false;
    return null;
  }

  setReady(id, ready) {
    const player = this.players.get(id);
    if (player.team === 0) {
      return 'pick a team first';
    }
    player.ready = ready;
    return null;
  }

  // allReady: every team has a player, and every player is ready.
  allReady() {
    return this.list().every((p) => p.ready) && this.ids.every((team) => this.members(team).length > 0);
  }

  members(team) {
    return this.list().filter((p) => p.team === team).map((p) => p.id);
  }

  rosters() {
    const all = {};
    for (const team of this.ids) {
      all[team] = this.members(team);
    }
    return all;
  }

  list() {
    return Array.from(this.players.values());
  }
}

exports.Teams = Teams;
