import type { IncomingMessage } from 'node:http';
import type { Router } from '@koa/router';
import { z } from 'zod';
import { motdCodes, motdText, parseMotd } from '../game/motd/motd.ts';
import { reply } from '../http/fields.ts';
import type { Components } from '../http/openapi-schemas.ts';
import { json } from '../http/openapi.ts';
import type { PublicBoard } from './public-server.ts';

/** How long browsers and caches on the way may keep a status. */
export const PUBLIC_CACHE = 'public, max-age=10';

/** The answer of `GET /v1/public/status/{publicSlug}`. */
export const PublicStatusReply = z
  .object({
    name: reply.text,
    state: reply.text.describe('As of a Server.'),
    version: reply.text.describe('Minecraft version.'),
    playersOnline: z.int32().optional().meta({ format: 'int32' }).describe('Absent without a live reading.'),
    playersMax: reply.int32,
    motd: reply.text.describe('With `§` codes.'),
    motdText: reply.text.describe('The words alone.'),
    maintenance: reply.text.describe("While its owner works on it: the owner's words."),
    address: z.string().optional().describe('Where players connect; absent unless its owner shows it.'),
  })
  .meta({ id: 'PublicStatus' });

export interface PublicStatusDeps {
  publicBoard: PublicBoard;
  clientAddress: (request: IncomingMessage) => string;
}

/** For everybody, without a credential: websites may ask from a browser, too. */
export function mountPublicStatus(router: Router, { publicBoard, clientAddress }: PublicStatusDeps): void {
  router.get('/v1/public/status/:publicSlug', async (ctx) => {
    ctx.set('Access-Control-Allow-Origin', '*');
    const server = await publicBoard.look(String(ctx.params['publicSlug']), clientAddress(ctx.req));
    const { name, state, version, playersOnline, playersMax, address } = server;
    const motd = parseMotd(server.motd);
    ctx.set('Cache-Control', PUBLIC_CACHE);
    ctx.set('Cross-Origin-Resource-Policy', 'cross-origin');
    ctx.body = PublicStatusReply.parse({
      name,
      state,
      version,
      ...(playersOnline !== undefined && { playersOnline }),
      playersMax,
      motd: motdCodes(motd, { anyColor: true }),
      motdText: motdText(motd),
      maintenance: motdText(parseMotd(server.maintenance)),
      ...(address !== '' && { address }),
    });
  });
}

/** As an OpenAPI path. */
export function publicStatusPaths(components: Components): Record<string, Record<string, unknown>> {
  return {
    '/v1/public/status/{publicSlug}': {
      get: {
        operationId: 'GetPublicStatus',
        tags: ['public'],
        summary: 'A server as its owner shows it to everybody',
        description:
          'For servers whose owner enabled it by SetPublicStatus; 404 for all others. Never wakes a server. The same as a page ' +
          'at `/status/{publicSlug}`, as a badge at `/status/{publicSlug}/badge.svg`. Limited by address; may be 10 s old.',
        security: [],
        parameters: [
          { name: 'publicSlug', in: 'path', required: true, description: 'Of the Server.', schema: { type: 'string' } },
        ],
        responses: {
          '200': { description: 'Done.', ...json(components.reply(PublicStatusReply)) },
          default: { $ref: '#/components/responses/Error' },
        },
      },
    },
  };
}
