import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import type { SFTPWrapper } from 'ssh2';
import { connect, openSftp } from '../sftp/support.ts';
import { startService } from '../support/service.ts';
import { until } from '../support/until.ts';

type Credential = { port: number; username: string; password: string };

test('files are reachable over SFTP while the server sleeps and runs, but not after its deletion', async (t) => {
  const service = await startService(t);
  await service.create('Castle', '1.21.4');
  const login = await service.call<Credential>('POST', '/v1/servers/castle/sftp:enable', {});
  const client = await connect(t, { port: login.port, login });
  const sftp = await openSftp(client);
  const write = (path: string, text: string) => promisify(sftp.writeFile.bind(sftp) as Write)(path, text);

  await write('notes.txt', 'before it ever ran');
  await service.call('POST', '/v1/servers/castle:start', {});
  await service.reach('castle', 'running');
  const properties = await promisify(sftp.readFile.bind(sftp) as Read)('/server.properties');
  t.regex(properties.toString(), /^rcon\.password=\*+$/m);
  await write('notes.txt', 'while it runs');
  t.is(readFileSync(join(service.dataDir, 'servers/castle/notes.txt'), 'utf8'), 'while it runs');

  const gone = once(client, 'close');
  await service.call('DELETE', '/v1/servers/castle');
  await gone;
  await t.throwsAsync(connect(t, { port: login.port, login }));
  await until(() => !existsSync(join(service.dataDir, 'servers/castle')));

  // The host key is the same after a restart, so clients show no warning.
  const shown = () => service.log.findLast(({ msg }) => msg === 'ready')?.['sftpKey'];
  const before = shown();
  await service.kill();
  await service.start();
  t.is(shown(), before);
  t.regex(String(before), /^SHA256:/);
});

type Write = (path: string, text: string, done: (error: Error | undefined) => void) => void;
type Read = (path: string, done: Parameters<SFTPWrapper['readFile']>[1] & object) => void;
