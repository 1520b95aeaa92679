'use strict';

const GREETING = 1;
const GROUP = 2;

class Server {
  get configuration() {
    return { maxPlayers: 3 };
  }

  init(session) {
    this.session = session; // this is ssExports
    this.logger = session.getLogger();
    this.seen = [];
  }

  onProcessStarted() {
    return this.session !== undefined;
  }

  onPlayerConnect(connectMessage) {
    this.seen.push(connectMessage.player.peerId);
    return true;
  }

  onPlayerAccepted(player) {
    this.session.sendReliableMessage(
      this.session.newTextGameMessage(GREETING, this.session.getServerId(), `seen ${this.seen}`), player.peerId);
  }

  onMessage(message) {
    this.session.sendReliableGroupMessage(
      this.session.newTextGameMessage(GROUP, message.sender, message.getPayloadAsText()), 7);
  }

  onPlayerJoinGroup(groupId, peerId) {
    this.logger.info(`${peerId} to ${groupId}`);
    return groupId === 7;
  }

  onPlayerLeaveGroup() {
    return false;
  }

  async onPlayerDisconnect() {
    if (this.session.getPlayers().size === 1) {
      await this.session.processEnding();
      process.exit(0);
    }
  }
}

module.exports = { Server };
