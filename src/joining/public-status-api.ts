import * as z from 'zod';
import { motdCodes, motdText, parseMotd } from '../game/motd/motd.ts';
import { reply } from '../http/fields.ts';
import { type PublicOperation, publicOperation } from '../http/public-operation.ts';
import type { PublicStatusReader } from './public-server.ts';

/** How long browsers and shared caches may keep a status. */
export const PUBLIC_CACHE = 'public, max-age=10';

const PublicStatusReply = z
  .object({
    name: reply.text,
    state: reply.text.describe('As of a Server.'),
    version: reply.text.describe('Minecraft version.'),
    playersOnline: z
      .int32()
      .optional()
      .meta({ format: 'int32' })
      .describe('0 while it does not run; absent if unknown.'),
    playersMax: reply.int32,
    motd: reply.text.describe('With `§` codes.'),
    motdText: reply.text.describe('The words alone.'),
    maintenance: reply.text.describe("While its owner works on it: the owner's words."),
    address: z.string().optional().describe('The address for players; absent unless its owner shows it.'),
  })
  .meta({ id: 'PublicStatus' });

/** The public status of a server. Websites can request it from a browser, too. */
export const publicStatusOperations = (needs: {
  publicStatusReader: PublicStatusReader;
}): readonly PublicOperation[] => [
  publicOperation({
    id: 'GetPublicStatus',
    method: 'get',
    path: '/v1/public/status/{publicSlug}',
    summary: 'A server as its owner shows it to everybody',
    description:
      'For servers whose owner enabled it by SetPublicStatus; 404 for all others. Never wakes a server. The same as a page ' +
      'at `/status/{publicSlug}`, as a badge at `/status/{publicSlug}/badge.svg`. Limited by address; may be 10 s old.',
    params: z.object({ publicSlug: z.string().describe('Of the Server.') }),
    reply: PublicStatusReply,
    answerHeaders: { 'Access-Control-Allow-Origin': '*' },
    async run({ params, caller, response }) {
      const server = await needs.publicStatusReader.statusOf(params.publicSlug, caller.address);
      response.set({ 'Cache-Control': PUBLIC_CACHE, 'Cross-Origin-Resource-Policy': 'cross-origin' });
      const { name, state, version, playersOnline, playersMax, address } = server;
      const motd = parseMotd(server.motd);
      return {
        name,
        state,
        version,
        ...(playersOnline !== undefined && { playersOnline }),
        playersMax,
        motd: motdCodes(motd, { anyColor: true }),
        motdText: motdText(motd),
        maintenance: motdText(parseMotd(server.maintenance)),
        ...(address !== '' && { address }),
      };
    },
  }),
];
