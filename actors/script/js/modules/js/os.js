// Constants that say nothing about the host.
module.exports = {
  EOL: '\n', devNull: '/dev/null',
  arch: () => 'x64', machine: () => 'x86_64', platform: () => 'linux', type: () => 'Linux', release: () => '0.0.0', version: () => '#1',
  endianness: () => 'LE', hostname: () => 'localhost', homedir: () => '/local/game', tmpdir: () => '/tmp',
  cpus: () => [{ model: 'unknown', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }], availableParallelism: () => 1,
  freemem: () => 268435456, totalmem: () => 268435456, loadavg: () => [0, 0, 0], uptime: () => require('process').uptime(),
  userInfo: () => ({ uid: 1000, gid: 1000, username: 'game', homedir: '/local/game', shell: null }),
  constants: { signals: { SIGHUP: 1, SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }, errno: { ENOENT: 2, EACCES: 13, EROFS: 30 }, priority: {} },
};
