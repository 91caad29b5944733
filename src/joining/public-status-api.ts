import * as z from 'zod';
import { motdCodes, motdText, parseMotd } from '../game/motd/motd.ts';
import { reply } from '../http/fields.ts';
import { operation } from '../http/operation.ts';
import { type Served, serve } from '../http/serve.ts';
import type { PublicStatusReader } from './public-status.ts';

/** How long browsers and shared caches may keep a status. */
export const PUBLIC_CACHE = 'public, max-age=10';

const PublicStatusReply = z
  .object({
    name: reply.text,
    state: reply.text.describe('Same as `state` of a Server.'),
    version: reply.text.describe('Minecraft version.'),
    playersOnline: z
      .int32()
      .optional()
      .meta({ format: 'int32' })
      .describe('0 if the server is not running. Absent if unknown.'),
    playersMax: reply.int32,
    motd: reply.text.describe('With `§` codes.'),
    motdText: reply.text.describe('`motd` as plain text.'),
    maintenance: reply.text.describe('The maintenance message. Empty if not set.'),
    address: z.string().optional().describe('The address for players. Absent unless the owner shows it.'),
  })
  .meta({ id: 'PublicStatus' });

interface Needs {
  publicStatusReader: PublicStatusReader;
}

export const GetPublicStatus = operation({
  id: 'GetPublicStatus',
  method: 'get',
  path: '/v1/public/status/{publicSlug}',
  auth: 'none',
  summary: 'Get the public status of a server',
  description:
    'Works for servers whose owner enabled it with SetPublicStatus. Returns 404 for all others. Never wakes a ' +
    'server. Also available as a page at `/status/{publicSlug}` and as a badge at ' +
    '`/status/{publicSlug}/badge.svg`. Rate-limited by address. The reply may be 10 s old.',
  params: z.object({ publicSlug: z.string().describe('The `publicSlug` of the Server.') }),
  reply: PublicStatusReply,
  answerHeaders: { 'Access-Control-Allow-Origin': '*' },
});

/** The public status of a server. Websites can request it from a browser, too. */
export const publicStatusOperations = ({ publicStatusReader }: Needs): readonly Served[] => [
  serve(GetPublicStatus, async ({ params, caller, response }) => {
    const server = await publicStatusReader.statusOf(params.publicSlug, caller.address);
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
  }),
];
