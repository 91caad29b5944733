import * as z from 'zod';
import { invalidFields } from '../../http/errors.ts';
import { HTTPS_URL, int32, line, message, text } from '../../http/fields.ts';
import { operation } from '../../http/operation.ts';
import type { Served } from '../../http/serve.ts';
import type { Principal } from '../../http/principal.ts';
import { ignoredIn } from '../../game/online-players.ts';
import { inProgress } from '../../jail/change-lock.ts';
import { isTimeZone } from '../../kernel/time-zone.ts';
import type { Store, Tx } from '../../store/store.ts';
import { MOST_AWAKE_CHARS, parseAwakeHours } from '../awake-hours.ts';
import type { ServerNow } from '../server-now.ts';
import type { Servers } from '../servers.ts';
import { Motd, PROPERTIES_BYTES, PropertyMap, checkProperties, checkWebhookUrl } from './fields.ts';
import { Server, ServerParams } from './messages.ts';
import type { ServerNeeds } from './operation.ts';
import { recordOnServer } from './reach.ts';

/** Dependencies of these operations. */
interface Needs extends ServerNeeds {
  store: Store;
  /** Queues a test alert for the server's webhook. */
  testAlert: (tx: Tx, serverId: string, at: number) => Promise<void>;
}

const MOST_IDLE_MINUTES = 7 * 24 * 60;

const COMMON = {
  auth: 'key',
  method: 'post',
  scope: 'servers:write',
  role: 'member',
  section: 'Servers',
  params: ServerParams,
  reply: Server,
} as const;

export const SetServerProperties = operation({
  ...COMMON,
  id: 'SetServerProperties',
  path: '/v1/servers/{id}:setProperties',
  summary: 'Set idle timeout and server.properties',
  description:
    'Absent fields stay unchanged. `properties` replaces all earlier values: a property you leave out returns to ' +
    "the game's default, and an empty map resets all. Properties apply at the next start. Ports, RCON and similar " +
    "properties are set by the service and refused, as are properties that the server's version does not support.",
  bodyLimitBytes: PROPERTIES_BYTES,
  body: message({
    idleTimeoutMinutes: int32({ min: -1, max: MOST_IDLE_MINUTES })
      .optional()
      .describe("0: the node's default; -1: it never sleeps by itself."),
    awakeHours: line(MOST_AWAKE_CHARS)
      .optional()
      .describe(
        'When it stays awake without players: entries such as `Fri-Sun 18-24`, separated by commas. Without a day, ' +
          'an entry applies every day. `22-2` ends on the next day. Hours do not start a server. Empty: never.',
      ),
    awakeTimeZone: line(64).optional().describe('The IANA time zone of `awakeHours`. Empty: UTC.'),
    ignoredPlayers: line(400)
      .optional()
      .describe(
        'At most 16 players that do not keep it awake, such as the fake players of a plugin, separated by commas. ' +
          'A `*` at the end of a name stands for any rest. Players who joined through Dormouse always count.',
      ),
    properties: PropertyMap.optional().describe('Subset of server.properties; empty: all defaults.'),
  }).meta({ id: 'SetServerPropertiesRequest' }),
  example: { idleTimeoutMinutes: 20, properties: { difficulty: 'hard', 'view-distance': '12' } },
});

export const SetServerMotd = operation({
  ...COMMON,
  id: 'SetServerMotd',
  path: '/v1/servers/{id}:setMotd',
  summary: 'Set the description in the server list',
  description:
    'Plain text, `§` codes or MiniMessage (`<gold>`, `<#ff8800>`, `<gradient:…>`), at most two lines of 128 ' +
    'characters. Shown immediately while the server is asleep. A running game shows it after its next start. ' +
    'Empty = the default.',
  body: message({ motd: Motd.default('') }).meta({ id: 'SetServerMotdRequest' }),
  example: { motd: '<gradient:#f3b183:#5b4487>Castle</gradient>\n<gray>Build with us' },
});

const WebhookUrl = text(2_048)
  .superRefine((url, ctx) => {
    const wrong = url === '' ? undefined : checkWebhookUrl(url);
    if (wrong !== undefined) ctx.addIssue({ code: 'custom', message: wrong });
  })
  .meta({ pattern: `^$|${HTTPS_URL}` });

export const SetServerAlertWebhook = operation({
  ...COMMON,
  id: 'SetServerAlertWebhook',
  path: '/v1/servers/{id}:setAlertWebhook',
  summary: 'Set the alert webhook',
  description:
    'A webhook of a chat platform, at a public https address. Empty turns alerts off. Its host name is resolved ' +
    'and checked only when an alert is sent. The audit log records alerts that were given up. Alerts about low TPS need a game ' +
    'that reports its TPS: see `ticksAvailable` of GetServerMetrics.',
  body: message({
    url: WebhookUrl.default(''),
    test: z
      .boolean('must be true or false')
      .default(false)
      .describe('Sends a test alert to the webhook within seconds.'),
  }).meta({ id: 'SetServerAlertWebhookRequest' }),
  example: { url: 'https://discord.com/api/webhooks/1/example' },
});

function* checkAwake(given: { awakeHours?: string; awakeTimeZone?: string; ignoredPlayers?: string }) {
  const { awakeHours = '', awakeTimeZone = '', ignoredPlayers = '' } = given;
  if (parseAwakeHours(awakeHours) === undefined) {
    yield { field: 'awakeHours', description: 'must be entries such as Fri-Sun 18-24 or 8:30-10, separated by commas' };
  }
  if (awakeTimeZone !== '' && !isTimeZone(awakeTimeZone)) {
    yield { field: 'awakeTimeZone', description: 'must be an IANA time zone name, such as Europe/Berlin' };
  }
  if (ignoredIn(ignoredPlayers) === undefined) {
    yield { field: 'ignoredPlayers', description: 'must be at most 16 names separated by commas; * only at the end' };
  }
}

interface Asked {
  now: ServerNow;
  principal: Principal;
  needs: Needs;
}

/** Changes fields of the server's row and adds an audit entry. */
async function change(
  { now, principal, needs }: Asked,
  fields: Parameters<Servers['patch']>[1],
  action: string,
  detail = '',
) {
  const record = recordOnServer(principal, now.row, { action, detail, at: needs.clock.now() });
  return needs.serverView(await needs.servers.patch(now.row.id, fields, record));
}

/** Operations on an owner's settings, except name and size. */
export const settingOperations = (needs: Needs): readonly Served[] => [
  needs.serveServer(SetServerProperties, async ({ server: now, body, principal }) => {
    const { properties = {} } = body;
    const violations = [...checkProperties({ ...now.row, properties }), ...checkAwake(body)];
    if (violations.length > 0) throw invalidFields(violations);
    // A restore determines the world name. Other properties set during the restore stay.
    const job = needs.servers.jobOf(now.row.id);
    const movesWorld = properties['level-name'] !== now.row.properties['level-name'];
    if (body.properties && movesWorld && job !== undefined) throw inProgress(now.row.id, job);
    const names = Object.keys({ ...body, ...properties }).filter((name) => name !== 'properties');
    const fields = { ...body, ...(body.awakeTimeZone === '' && { awakeTimeZone: 'UTC' }) };
    return change({ now, principal, needs }, fields, 'server.properties', names.join(', '));
  }),
  needs.serveServer(SetServerMotd, async ({ server: now, body: { motd }, principal }) =>
    change({ now, principal, needs }, { motd }, 'server.motd'),
  ),
  needs.serveServer(SetServerAlertWebhook, async ({ server: now, body: { url, test }, principal }) => {
    if (test && url === '') throw invalidFields([{ field: 'test', description: 'needs a webhook to send it to' }]);
    // The host name is not resolved here, because the answer would reveal names inside this network. Anyone who knows
    // the URL may post to it, so the audit log, which has more readers, only records whether one is set.
    const detail = url === '' ? 'off' : `set${test ? ', test alert' : ''}`;
    const view = await change({ now, principal, needs }, { alertWebhookUrl: url }, 'server.webhook', detail);
    if (test) await needs.store.write((tx) => needs.testAlert(tx, now.row.id, needs.clock.now()));
    return view;
  }),
];
