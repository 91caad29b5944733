import { once } from 'node:events';
import net from 'node:net';
import test from 'ava';
import { startService } from '../support/service.ts';

/** Simulates a machine without IPv6 in the service's process. */
const NO_IPV6 = `import net from 'node:net';
const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (options, ...rest) {
  if ((typeof options === 'object' ? options.host : rest[0]) !== '::') return listen.call(this, options, ...rest);
  process.nextTick(() => this.emit('error', Object.assign(new Error('listen EAFNOSUPPORT'), { code: 'EAFNOSUPPORT' })));
  return this;
};`;

test('on a machine without IPv6 the service starts, accepts players and SFTP clients, and logs it once', async (t) => {
  const program = ['--import', `data:text/javascript,${encodeURIComponent(NO_IPV6)}`, 'src/start.js'];
  const service = await startService(t, { HTTP_HOST: '::', PROXY_HOST: '', SFTP_HOST: '' }, program);
  t.is((await fetch(`${service.baseUrl}/readyz`)).status, 200);
  const { players, sftp } = service.log.find(({ msg }) => msg === 'ready') as { players: number; sftp: number };
  const toProxy = net.connect(players, '127.0.0.1');
  await once(toProxy, 'connect');
  toProxy.destroy();
  const toSftp = net.connect(sftp, '127.0.0.1');
  const [banner] = (await once(toSftp, 'data')) as [Buffer];
  toSftp.destroy();
  t.regex(banner.toString(), /^SSH-2\.0-Dormouse/);
  const notes = service.log.filter(({ msg }) => String(msg).includes('no IPv6'));
  t.deepEqual(
    notes.map(({ msg }) => msg),
    ['This machine has no IPv6: Dormouse listens on all IPv4 addresses instead.'],
  );
});
