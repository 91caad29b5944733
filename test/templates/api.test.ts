import test from 'ava';
import { api } from '../support/api-harness.ts';

interface Template {
  id: string;
  name: string;
  serverType: string;
  version: string;
  ramMb: number;
  properties: Record<string, string>;
  modpack: { platform: string; ref: string; version: string };
}

test('each built-in template creates a server of the newest version', async (t) => {
  const { ok } = await api(t, { config: { maxRamMb: 65_536 } });
  const { templates } = (await ok('GET', '/v1/templates')) as unknown as { templates: Template[] };
  t.true(templates.length >= 4);
  for (const { id, serverType, version, ramMb, properties } of templates) {
    const server = await ok('POST', `/v1/templates/${id}:createServer`, { name: `From ${id}` });
    t.like(server, { type: serverType, version, ramMb, properties, state: 'hibernated', plan: 'metered' });
    t.true(version === '1.21.8' || serverType === 'sandbox');
  }
});

test('a saved template creates similar servers, applies overrides, and is hidden from other accounts', async (t) => {
  const it = await api(t);
  const { ok, call } = it;
  const properties = { difficulty: 'hard' };
  await ok('POST', '/v1/servers', {
    name: 'Lobby',
    type: 'paper',
    version: '1.20.4',
    ramMb: 1024,
    properties,
    motd: 'Hi',
  });
  const saved = (await ok('POST', '/v1/templates', {
    serverId: 'lobby',
    name: 'Our usual',
    description: 'Hard',
  })) as unknown as Template;
  t.like(saved, { name: 'Our usual', serverType: 'paper', version: '1.20.4', ramMb: 1024, properties });
  const { templates } = (await ok('GET', '/v1/templates')) as unknown as { templates: Template[] };
  t.deepEqual(templates.at(-1), saved);
  const path = `/v1/templates/${saved.id}`;
  const twin = await ok('POST', `${path}:createServer`, { name: 'Twin' });
  t.like(twin, { id: 'twin', type: 'paper', version: '1.20.4', ramMb: 1024, properties, motd: 'Hi' });
  const other = await ok('POST', `${path}:createServer`, {
    name: 'Other',
    overrides: { ramMb: 2048, version: '1.21.8', plan: 'flat' },
  });
  t.like(other, { ramMb: 2048, version: '1.21.8', plan: 'flat' });
  const bad = await call('POST', `${path}:createServer`, { body: { name: 'Bad', overrides: { version: 'x; rm' } } });
  t.is(bad.reason, 'INVALID_FIELD');

  const key = await it.stranger();
  for (const verb of ['createServer', 'delete']) {
    const answer = await call('POST', `${path}:${verb}`, { key, body: { name: 'Mine' } });
    t.is(answer.reason, 'TEMPLATE_NOT_FOUND');
  }
  t.is(
    (await call('POST', '/v1/templates', { key, body: { serverId: 'lobby', name: 'Theirs' } })).reason,
    'SERVER_NOT_FOUND',
  );
  t.deepEqual(await ok('POST', `${path}:delete`, {}), {});
  t.is((await call('POST', `${path}:delete`, { body: {} })).reason, 'TEMPLATE_NOT_FOUND');
  t.is((await call('POST', '/v1/templates/sandbox:delete', { body: {} })).reason, 'TEMPLATE_BUILT_IN');
  t.is((await it.servers.get('twin'))?.state, 'hibernated');
});

test('concurrent saves of 120 templates stop at the limit of 100', async (t) => {
  const it = await api(t);
  await it.create('abc');
  const body = { serverId: 'abc', name: 'Again' };
  const answers = await Promise.all(Array.from({ length: 120 }, () => it.call('POST', '/v1/templates', { body })));
  t.is(answers.filter(({ status }) => status === 200).length, 100);
  t.true(answers.every(({ status, reason }) => status === 200 || reason === 'MAX_TEMPLATES'));
});
