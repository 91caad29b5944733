import { setImmediate as turn } from 'node:timers/promises';
import * as z from 'zod';
import { invalidFields } from '../../http/errors.ts';
import { message, pageLimit, text } from '../../http/fields.ts';
import { operation } from '../../http/operation.ts';
import { type Served, serve } from '../../http/serve.ts';
import { reachesServer } from '../../http/principal.ts';
import { WrittenReply } from '../../http/reply.ts';
import { callerGone, unlessGone } from '../../kernel/caller-gone.ts';
import { createSemaphore } from '../../kernel/limits/semaphore.ts';
import { ownAccount } from '../../access/caller.ts';
import type { ServerPlace } from '../rows.ts';
import type { ServerNow } from '../server-now.ts';
import type { ServerPage, Servers } from '../servers.ts';
import { Server } from './messages.ts';
import type { ServerView } from './view.ts';

/** Dependencies of this operation. */
interface Needs {
  serverView: ServerView;
  servers: Servers;
}

/** Largest page. Reading, checking and writing one takes 10 ms. */
const PAGE = 200;
/** Rows of a full list read at a time. With more, V8 grows its young generation until a collection takes 20 ms. */
const READ = 100;
/** Servers written before other work gets a turn. If all concurrent lists write one in a row, that takes 5 ms. */
const PIECE = 25;
/** Limits on concurrent lists of more than a page. A list of 10 000 servers is 10 MB. */
const LONG = { atOnce: 4, atOncePerKey: 2, mostWaiting: 256, mostWaitingPerKey: 64 };
const PLACE = /^(\d{1,15})-([a-z0-9-]{1,40})$/;
const List = z.array(Server);

export const ListServers = operation({
  id: 'ListServers',
  method: 'get',
  path: '/v1/servers',
  auth: 'key',
  scope: 'servers:read',
  section: 'Servers',
  summary: 'List servers',
  description:
    "Returns the account's servers that the key can access, oldest first. An `accountId` other than the caller's " +
    'own is refused. For accounts with hundreds of servers, read pages: set `limit`, and pass `next` of each page ' +
    'as `after` to get the following one.',
  query: message({
    accountId: text(64).default('').describe("Empty, or the caller's own account."),
    limit: pageLimit({ fallback: 0, most: PAGE }).describe(`0 = all. At most ${PAGE}.`),
    after: text(64).default('').describe('`next` of the previous page. Empty = the first page.'),
  }),
  reply: z
    .object({
      servers: List.default([]),
      next: z
        .string()
        .optional()
        .describe(
          'With `limit`, the value of `after` for the next page. Empty on the last page. A key limited to some ' +
            'servers can get fewer than `limit` servers on a page.',
        ),
    })
    .meta({ id: 'ListServersResponse' }),
});

async function* inPieces(pages: AsyncIterable<ServerPage>): AsyncGenerator<readonly ServerNow[]> {
  for await (const { servers } of pages)
    for (let at = 0; at < servers.length; at += PIECE) yield servers.slice(at, at + PIECE);
}

/** Returns the servers as JSON without the enclosing brackets. */
function pieceOf(servers: z.input<typeof List>): string {
  return JSON.stringify(List.parse(servers)).slice(1, -1);
}

function textOf(place: ServerPlace | undefined): string {
  return place ? `${place.createdAt}-${place.id}` : '';
}

function placeIn(after: string): ServerPlace | undefined {
  if (after === '') return undefined;
  const [, createdAt, id] = PLACE.exec(after) ?? [];
  if (id !== undefined) return { createdAt: Number(createdAt), id };
  throw invalidFields([{ field: 'after', description: 'must be `next` of the previous page' }]);
}

export function serverListOperations({ servers, serverView }: Needs): readonly Served[] {
  const slots = createSemaphore(LONG);
  return [
    serve(ListServers, async ({ query: { accountId, limit, after }, principal, signal }) => {
      const account = ownAccount(principal, accountId);
      const pages = servers.pagesByAccount(account, limit || READ, placeIn(after));
      const shown = (all: readonly ServerNow[]) =>
        all.filter(({ row }) => reachesServer(principal, row.id)).map((now) => serverView(now));
      if (limit > 0) {
        const page = (await pages.next()).value as ServerPage;
        return { servers: shown(page.servers), next: textOf(page.next) };
      }
      // A long list waits for its turn before it reads anything.
      if ((await servers.count(account)) <= PAGE) {
        const all: ServerNow[] = [];
        for await (const page of pages) all.push(...page.servers);
        return { servers: shown(all) };
      }
      const release = await unlessGone(signal, () => slots.enter({ key: account }, signal));
      return new WrittenReply(written(), release);

      /** Writes the list while it is sent, so that only one page is in memory. */
      async function* written(): AsyncGenerator<string> {
        let before = '{"servers":[';
        for await (const all of inPieces(pages)) {
          await turn();
          if (signal.aborted) throw callerGone();
          const piece = pieceOf(shown(all));
          if (piece === '') continue;
          yield before + piece;
          before = ',';
        }
        yield before === ',' ? ']}' : `${before}]}`;
      }
    }),
  ];
}
