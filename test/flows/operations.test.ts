import { setTimeout as delay } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import { OPERATIONS } from '../../src/reference.ts';
import { openapiDocument } from '../../src/http/openapi.ts';
import { CODES } from '../../src/kernel/status.ts';
import { joinRaw } from '../support/bot.ts';
import { startMariadb } from '../support/mariadb.ts';
import { modrinth, mrpack } from '../support/modrinth.ts';
import { isHere } from '../support/needs.ts';
import { REFERENCE } from '../support/reference.ts';
import { type Service, startService } from '../support/service.ts';
import { ROWS, SERVER, type Sent, type Walk } from './operation-rows.ts';

const operations = OPERATIONS.filter((operation) => operation.auth === 'key');

interface Schema {
  $ref?: string;
  required?: string[];
}

/** The parts of a described operation that the walk needs. */
interface Described {
  id: string;
  method: string;
  path: string;
  /** The required fields of its replies. Undefined if it does not return JSON. */
  fields: string[] | undefined;
}

interface Answer {
  status: number;
  json: Record<string, unknown>;
}

const DESCRIBED = new Map(describe().map((operation) => [operation.id, operation]));

test('every operation in the reference has a test row, and every row an operation', (t) => {
  t.deepEqual(ROWS.map(({ id }) => id).toSorted(), REFERENCE.map(({ id }) => id).toSorted());
});

test('every control operation rejects bad input and returns the documented fields for good input', async (t) => {
  const databases = isHere('mariadb') ? { MYSQL_ADMIN_URL: await mariadbUrl(t) } : undefined;
  const mods = await modrinth(t);
  mods.project('lithium', [{ id: 'lithium1', loaders: ['fabric'], gameVersions: ['1.21.4'] }]);
  const pack = await mrpack({ dependencies: { minecraft: '1.21.4', 'fabric-loader': '0.16.9' }, files: [] });
  mods.project('Pack', [{ id: 'p1', content: pack, filename: 'p.mrpack' }], { project_type: 'modpack' });
  const service = await startService(t, { ...databases, MODRINTH_URL: mods.url });
  const walk = await begin(t, service);
  const here = new Set(operations.map(({ id }) => id));
  const rows = ROWS.filter(({ id }) => here.has(id) && (databases !== undefined || !id.includes('ServerDatabase')));
  for (const row of rows) {
    const { id, server = SERVER, well = {}, bad, before, after } = row;
    await before?.(walk);
    const { code, ...change } = bad;
    const sent = typeof well === 'function' ? well(walk) : well;
    const good = { ...sent, params: { id: server, accountId: walk.accountId, ...sent.params } };
    const refused = await ask(service, id, { ...good, ...change, params: { ...good.params, ...change.params } });
    t.deepEqual(
      [refused.status, refused.json['code'], Array.isArray(refused.json['details'])],
      [CODES[code][1], CODES[code][0], true],
      `${id} with bad input: ${JSON.stringify(refused.json)}`,
    );
    const done = await ask(service, id, good);
    t.is(done.status, 200, `${id}: ${JSON.stringify(done.json)}`);
    const missing = DESCRIBED.get(id)?.fields?.filter((field) => !Object.hasOwn(done.json, field)) ?? [];
    t.deepEqual(missing, [], `${id} lacks documented fields`);
    await after?.(done.json, walk);
  }
  t.like(await ask(service, 'GetServer', { params: { id: SERVER } }), { status: 404 });
});

async function mariadbUrl(t: ExecutionContext): Promise<string> {
  const mariadb = await startMariadb();
  t.teardown(() => mariadb.remove());
  return mariadb.adminUrl;
}

async function begin(t: ExecutionContext, service: Service): Promise<Walk> {
  const { accountId } = await service.call<{ accountId: string }>('GET', '/v1/whoami');
  return {
    service,
    accountId,
    noted: new Map(),
    async call(id, sent) {
      const { status, json } = await ask(service, id, { ...sent, params: { id: SERVER, ...sent.params } });
      t.is(status, 200, `${id}, an additional call: ${JSON.stringify(json)}`);
      return json;
    },
    async join() {
      const { playersPort: port } = service;
      const bot = await joinRaw({ port, version: '1.21.4', name: 'Steve', fakeHost: `${SERVER}.localhost` });
      t.teardown(() => bot.end());
    },
  };
}

/** Calls an operation at its documented path, and again after a rate limit. Reads only the beginning of a stream. */
async function ask(service: Service, id: string, sent: Sent): Promise<Answer> {
  const { method, path } = DESCRIBED.get(id)!;
  const { params = {}, query = {}, body, bytes, key = service.apiKey } = sent;
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const content = bytes ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(`${service.baseUrl}${address}?${new URLSearchParams(query).toString()}`, {
    method,
    headers: {
      'x-api-key': key,
      ...(content !== undefined && {
        'content-type': bytes === undefined ? 'application/json' : 'application/octet-stream',
      }),
    },
    ...(content !== undefined && { body: content }),
    signal: AbortSignal.timeout(240_000),
  });
  if (response.status === 429) {
    await response.body?.cancel();
    await delay(Number(response.headers.get('retry-after')) * 1_000);
    return ask(service, id, sent);
  }
  if (response.headers.get('content-type')?.startsWith('application/json')) {
    return { status: response.status, json: (await response.json()) as Answer['json'] };
  }
  await response.body?.cancel();
  return { status: response.status, json: {} };
}

function describe(): Described[] {
  const document = openapiDocument({ baseUrl: 'http://localhost:8080' }, OPERATIONS) as unknown as {
    paths: Record<string, Record<string, { operationId: string; responses: Responses }>>;
    components: { schemas: Record<string, Schema> };
  };
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, responses }]) => {
      const schema = responses['200']?.content['application/json']?.schema;
      const named = document.components.schemas[schema?.$ref?.replace(/^.*\//, '') ?? ''] ?? schema;
      return { id: operationId, method: method.toUpperCase(), path, fields: schema && (named?.required ?? []) };
    }),
  );
}

type Responses = Record<string, { content: Record<string, { schema: Schema }> }>;
