import { once } from 'node:events';
import test from 'ava';
import type { Client } from 'ssh2';
import { api } from '../support/api-harness.ts';
import { connect } from './support.ts';

interface Credential {
  host: string;
  port: number;
  username: string;
  password: string;
}

test('the owner enables SFTP, reads its status, rotates the password and disables it; each password is shown once', async (t) => {
  const it = await api(t);
  await it.create('lobby');
  await it.sftp.listen('127.0.0.1', 0);
  const { port } = it.sftp;
  const path = '/v1/servers/lobby/sftp';
  const read = () => it.ok('GET', path);
  const change = async (verb: string) => (await it.ok('POST', `${path}:${verb}`, {})) as unknown as Credential;
  const where = { host: 'play.example', port };
  const rest = { sessions: 0, hostKeyFingerprint: it.sftp.fingerprint };

  t.deepEqual(await read(), { enabled: false, ...where, username: '', ...rest });
  t.is((await it.call('POST', `${path}:rotatePassword`)).reason, 'SFTP_DISABLED');

  const first = await change('enable');
  t.deepEqual({ ...first, username: '', password: '' }, { ...where, username: '', password: '' });
  t.regex(first.username, /^lobby\.[a-z0-9]{8}$/);
  t.regex(first.password, /^[0-9A-Za-z]{32}$/);
  t.true((await it.ok('GET', '/v1/servers/lobby'))['sftpEnabled']);
  const signIn = (login: Credential): Promise<Client> => connect(t, { port, login });
  const client = await signIn(first);
  t.deepEqual(await read(), { enabled: true, ...where, username: first.username, ...rest, sessions: 1 });

  const gone = once(client, 'close');
  const second = await change('rotatePassword');
  await gone;
  t.deepEqual([second.username, second.password === first.password], [first.username, false]);
  let isRefused = false;
  void t.throwsAsync(signIn(first)).then(() => (isRefused = true));
  await it.passUntil(() => isRefused, 100);

  const again = await signIn(second);
  const goneAgain = once(again, 'close');
  t.deepEqual(await it.ok('POST', `${path}:disable`, {}), {});
  await goneAgain;
  t.deepEqual(await read(), { enabled: false, ...where, username: first.username, ...rest });
  t.false((await it.ok('GET', '/v1/servers/lobby'))['sftpEnabled']);

  const rows = JSON.stringify(await it.store.query('SELECT * FROM "sftp_users"'));
  const audit = JSON.stringify(await it.ok('GET', '/v1/servers/lobby/audit'));
  for (const action of ['enable', 'rotatePassword', 'disable']) t.true(audit.includes(`"sftp.${action}"`), action);
  for (const { password } of [first, second])
    for (const kept of [rows, audit, it.logged.join('')]) t.false(kept.includes(password));
});
