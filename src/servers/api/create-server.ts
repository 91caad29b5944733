import { quotaExceeded } from '../../http/errors.ts';
import { operation } from '../../http/operation.ts';
import type { Principal } from '../../http/principal.ts';
import type { Services } from '../../http/services.ts';
import { slugify } from '../../kernel/ids.ts';
import { StatusError } from '../../kernel/status.ts';
import { causeOf, ownAccount, requireWholeAccount } from '../../people/caller.ts';
import type { ServerRow } from '../rows.ts';
import type { ServerNow } from '../server-now.ts';
import { type CompleteRequest, CreateServerRequest, complete } from './create-request.ts';
import { Server } from './messages.ts';
import { serverView } from './view.ts';

/** How often a name that is taken gets another number behind it. */
const NAMES_TRIED = 50;
const SLUG_LENGTH = 40;

type Names = Pick<ServerRow, 'id' | 'hostname' | 'container'>;

export const createServer = operation({
  id: 'CreateServer',
  method: 'post',
  path: '/v1/servers',
  scope: 'servers:write',
  tag: 'control',
  summary: 'Create a server',
  description:
    'Costs nothing and starts nothing; with a mod pack it is installed first, for which the machine needs as much room as for ' +
    'a start. Start it, or just join it.',
  body: CreateServerRequest,
  example: { name: 'My Server', ramMb: 2048, type: 'paper', version: '1.21.8', properties: { difficulty: 'hard' } },
  reply: Server,
}).handle(async ({ body, principal }, services) =>
  serverView(await createServerFor(principal, services, body), services),
);

/** Checks a request and stores the server it asks for. Throws as CreateServer answers. */
export async function createServerFor(
  principal: Principal,
  services: Services,
  body: CompleteRequest,
): Promise<ServerNow> {
  const accountId = ownAccount(principal, body.accountId);
  requireWholeAccount(principal);
  const request = complete({ ...body, accountId }, services);
  requireActive(request.region, services);
  await services.cores.require(request);
  const { maxServers } = services.accountLimits.of(accountId);
  return services.inTurn(accountId, async () => {
    const servers = await services.servers.listByAccount(accountId);
    if (maxServers > 0 && servers.length >= maxServers) {
      throw quotaExceeded('MAX_SERVERS', `account:${accountId}`, `An account may have ${maxServers} servers.`, {
        limit: String(maxServers),
      });
    }
    return createFirstFree(names(request), (name) =>
      services.servers.create(newRow(request, name, services.clock.now()), causeOf(principal)),
    );
  });
}

/** A region whose only node is drained has none. */
function requireActive(region: string, { drain }: Services): void {
  const drained = drain.now();
  if (drained === undefined) return;
  const message = `Region ${region} takes no new servers now: ${drained.reason}`;
  throw new StatusError('FAILED_PRECONDITION', 'REGION_UNAVAILABLE', message, { metadata: { region } });
}

/** The names a server may get, best first: the ones asked for, or derived ones with a number where they are taken. */
function* names({ id, name, hostname, container }: CompleteRequest): Generator<Names> {
  const derived = id || slugify(name);
  yield { id: derived, hostname: hostname || derived, container: container || derived };
  if (id !== '' || hostname !== '') return;
  for (let number = 2; number <= NAMES_TRIED; number++) {
    const numbered = `${derived.slice(0, SLUG_LENGTH - 3).replace(/-$/, '')}-${number}`;
    yield { id: numbered, hostname: numbered, container: container || numbered };
  }
}

async function createFirstFree(
  candidates: Generator<Names>,
  create: (names: Names) => Promise<ServerNow>,
): Promise<ServerNow> {
  let taken: unknown;
  for (const candidate of candidates) {
    try {
      return await create(candidate);
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 'ALREADY_EXISTS') throw error;
      taken = error;
    }
  }
  throw taken;
}

function newRow(request: CompleteRequest, names: Names, at: number): ServerRow {
  const { accountId, name, type, version, ramMb, plan, region, motd, properties } = request;
  const { modpackPlatform, modpackRef, modpackVersion } = request;
  return {
    ...names,
    name,
    accountId,
    type,
    version,
    ramMb,
    plan,
    region,
    motd,
    properties,
    idleTimeoutMinutes: 0,
    alertWebhookUrl: '',
    sftpEnabled: false,
    modpackPlatform,
    modpackRef,
    modpackVersion,
    createdAt: at,
    updatedAt: at,
    coldStartsMs: [],
    lastStatus: '',
    snapshot: '',
    state: 'hibernated',
  };
}
