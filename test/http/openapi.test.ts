import type { Router } from '@koa/router';
import test from 'ava';
import { portablePattern } from '../../src/http/openapi-schemas.ts';
import { OPERATIONS } from '../../src/reference.ts';
import { openapiDocument } from '../../src/http/openapi.ts';
import { routesOf } from '../support/routes.ts';
import { api } from '../support/api-harness.ts';
import { REFERENCE } from '../support/reference.ts';

/** The fields of a described operation that these tests read. */
interface Described {
  operationId: string;
  tags: string[];
  description: string;
  security?: Record<string, unknown>[];
  'x-required-scope'?: string;
  'x-section'?: string;
}

const document = openapiDocument({ baseUrl: 'http://panel.example' }, OPERATIONS);
const described = Object.entries(document['paths'] as Record<string, Record<string, Described>>).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      Object.assign({ path, method: method.toUpperCase() }, operation),
    ),
);

/** Formats an operation as one line, for readable differences. */
function lineOf(parts: readonly (string | false | undefined)[]): string {
  return parts.filter(Boolean).join(' ');
}

test('the document’s control operations match the 116 operations of the reference, in the same order', (t) => {
  t.is(REFERENCE.length, 116);
  const wanted = REFERENCE.map(({ method, path, id, scope, section, appScope, keyOnly = false }) => ({
    path,
    line: lineOf([
      method,
      path,
      id,
      scope,
      appScope && `${appScope} for apps`,
      keyOnly && 'keys only',
      `in ${section}`,
    ]),
  }));
  // A document groups the methods of a path.
  const expected = [...Map.groupBy(wanted, ({ path }) => path).values()].flat().map(({ line }) => line);
  const found = described
    .filter(({ tags }) => tags.includes('control'))
    .map(({ method, path, operationId, description, security = [], ...operation }) => {
      const { 'x-required-scope': scope, 'x-section': section } = operation;
      const apps = security.some((each) => 'appToken' in each);
      const [, appScope] = (apps && /Apps need the scope `([\w:]+)`/.exec(description)) || [];
      const keyOnly = description.includes('Accepts only API keys') && 'keys only';
      return lineOf([method, path, operationId, scope, appScope && `${appScope} for apps`, keyOnly, `in ${section}`]);
    });
  const missing = expected.filter((line) => !found.includes(line));
  const surplus = found.filter((line) => !expected.includes(line));
  t.deepEqual({ missing, surplus }, { missing: [], surplus: [] });
  t.deepEqual(found, expected, 'the order of the reference');
});

test('every operation in the document has one tag and a unique name', (t) => {
  const names = described.map(({ operationId }) => operationId);
  t.deepEqual(
    names.filter((name, at) => names.indexOf(name) !== at),
    [],
  );
  const tags = new Set((document['tags'] as { name: string }[]).map(({ name }) => name));
  for (const { operationId, tags: own } of described) {
    t.is(own.length, 1, operationId);
    t.true(tags.has(own[0] ?? ''), operationId);
  }
});

test('the OpenAPI document lists every API route and no others', async (t) => {
  const { app } = await api(t);
  const routers = app.middleware.flatMap((each) => ('router' in each ? [each.router as Router] : []));
  const written = (path: string) => path.replaceAll(/(?<!\\):(\w+)/g, '{$1}').replaceAll('\\', '');
  const routes = routers
    .flatMap(routesOf)
    .filter(({ method }) => method !== 'HEAD')
    .map(({ method, path }) => `${method} ${written(path)}`);
  t.true(routes.length > 80);
  const listed = described.map(({ method, path }) => `${method} ${path}`);
  const ofApi = routes.filter((route) => !route.includes(' /panel/'));
  t.deepEqual(ofApi.toSorted(), listed.toSorted());
  const ofPages = routes.filter((route) => !ofApi.includes(route)).map((route) => route.replace(' /panel', ' '));
  const forPagesAlone = ['GET /v1/me/servers/events/stream', 'GET /v1/servers/{id}/icon'];
  t.is(ofPages.length, 9 + forPagesAlone.length);
  for (const route of ofPages) t.is(listed.includes(route), !forPagesAlone.includes(route), route);
});

test('patterns in the OpenAPI document are portable regular expressions with unchanged meaning', (t) => {
  const all: string[] = [];
  JSON.stringify(document, (key, value: unknown) => {
    if (key === 'pattern' && typeof value === 'string') all.push(value);
    return value;
  });
  t.true(all.length > 100);
  // No Unicode properties, no \\u, no lookaround, and no classes that match more than ASCII in other languages.
  t.deepEqual(
    all.filter((pattern) => /\\[pPudDwWsSbB]|\(\?[=!<]/.test(pattern)),
    [],
  );
  for (const pattern of all) t.notThrows(() => new RegExp(pattern, 'u'), pattern);
  const sources = [
    /^\P{Cc}*$/u,
    /^[^\p{Cc}\p{Bidi_Control}\u2028\u2029@]*$/u,
    /^[^\p{Cf}]*$/u,
    /^\p{Cf}$/u,
    /^[\w-]+$/,
    /^\d\]$/,
  ];
  for (const source of sources) {
    const portable = new RegExp(portablePattern(source.source), 'u');
    for (let point = 0; point < 0x11_00_00; point++) {
      const letter = String.fromCodePoint(point);
      if (portable.test(letter) !== source.test(letter)) t.fail(`${source.source} at ${point.toString(16)}`);
    }
  }
});
