/** Builds a server's route from its row and its actor. Makes no requests and changes nothing. */
import { isForge } from '../game/cores.ts';
import { isTagged } from '../../machines/server.ts';
import type { Route } from '../../proxy/ports.ts';
import { motdCodes, parseMotd } from '../game/motd/motd.ts';
import { protocolOf } from '../game/protocols.ts';
import { DEFAULT_MAX_PLAYERS } from '../game/properties/properties.ts';
import { stopText } from '../servers/stopping.ts';
import { NOT_INSTALLED } from '../servers/refusals.ts';
import type { RouteRow } from '../servers/rows.ts';
import { type ServerNow, etaSeconds, waitsForRoom } from '../servers/server-now.ts';
import { roomWords } from './refusals.ts';
import type { Translators } from './translators.ts';
import type { WakePolicy } from './join-policy.ts';

/** Cores without plugins or mods that translate between versions. */
const STRICT_CORES: ReadonlySet<string> = new Set(['sandbox', 'vanilla']);
/** One or two readings may fail. Players are not connected to a game that is silent for longer. */
const SILENT_MS = 25_000;

/** Returns the route of a server from its stored row. */
export function sleepingRoute(sleeper: RouteRow, policy: WakePolicy): Route {
  return {
    ...stored(sleeper),
    state: sleeper.state as Route['state'],
    address: null,
    readyAt: null,
    phase: '',
    percent: 0,
    etaSeconds: null,
    refusal: '',
    protocol: onlyProtocol(sleeper, undefined),
    ...asleep(policy, sleeper.state),
  };
}

/** Returns the route of a server from its actor at an instant. */
export function routeOf(now: ServerNow, policy: WakePolicy, at: number): Omit<Route, 'protocol'> {
  const { row, context } = now;
  const state = stateFor(now);
  const preparing = isTagged(state, 'preparing');
  return {
    ...stored(row),
    state,
    address: context.address,
    readyAt: context.readyAt,
    phase: preparing ? context.live.phase : '',
    percent: preparing ? context.live.percent : 0,
    etaSeconds: state === 'starting' ? etaSeconds({ row, state, context }, at) : null,
    ...asleep(policy, state),
    ...refused(now, at),
  };
}

/**
 * Returns the part of a route that is stored. Modded clients negotiate with the game on a connection that no other
 * program has answered, so they cannot wait in the waiting room.
 */
function stored({ id, name, motd, version, properties, lastStatus, waitingRoom, type }: RouteRow) {
  return {
    serverId: id,
    name,
    motd: codes(motd),
    versionName: version,
    maxPlayers: Number(properties['max-players']) || DEFAULT_MAX_PLAYERS,
    lastStatus: lastStatus === '' ? null : lastStatus,
    waitingRoom: waitingRoom && !isForge(type),
  };
}

/** Whether two routes are equal. */
export function isSame(one: Route, other: Route): boolean {
  const { address, ...rest } = one;
  const isAddressSame = address?.host === other.address?.host && address?.port === other.address?.port;
  return isAddressSame && Object.entries(rest).every(([key, value]) => other[key as keyof Route] === value);
}

/** Returns the state as players see it. A server queued for room counts as asleep: a join wakes it if there is room. */
function stateFor(now: ServerNow): Route['state'] {
  if (waitsForRoom(now)) return 'hibernated';
  return now.state === 'deleting' ? 'stopping' : now.state;
}

/** The parts of the policy that players see before they join. */
function asleep(policy: WakePolicy, state: string) {
  const { mode, asleepMotd, maintenanceText } = policy;
  const isClosed = maintenanceText !== '' || mode === 'nobody';
  return {
    asleepMotd: maintenanceText === '' ? codes(asleepMotd) : '',
    asleepLine: codes(maintenanceText).split('\n', 1)[0] || (mode === 'nobody' ? '§7Asleep' : ''),
    verifies: mode === 'verified' && !isClosed && !isTagged(state, 'awake'),
  };
}

/**
 * Adds a refusal's line to the route of a sleeping server that no player can wake. The owner's own line takes
 * precedence.
 */
export function withRefusal(route: Route, line: string | undefined): Route {
  if (line === undefined || route.state !== 'hibernated' || route.asleepLine !== '') return route;
  return { ...route, motd: route.asleepMotd || route.motd, asleepMotd: '', asleepLine: line };
}

/**
 * Returns the only protocol that can play; null if any can. Other versions are refused because waking the server would
 * not help them.
 */
export function onlyProtocol(
  { id, type, version, clientVersions }: RouteRow,
  translators: Translators | undefined,
): number | null {
  const translatesNone = STRICT_CORES.has(type) || translators?.of(id) === false;
  const isStrict = clientVersions === 'own' || (clientVersions === 'auto' && translatesNone);
  return isStrict ? protocolOf(version) : null;
}

function codes(motd: string): string {
  return motd === '' ? '' : motdCodes(parseMotd(motd), { anyColor: true });
}

/**
 * Returns the refusal of joins, with its own server-list line, which replaces the owner's text for sleeping servers.
 */
function refused(now: ServerNow, at: number) {
  const refusal = refusalText(now, at);
  return refusal === '' ? { refusal } : { refusal, asleepLine: '' };
}

/** Returns the kick message for a player whose wake has failed. */
export function kickText(now: ServerNow): string {
  const { row, state, context } = now;
  if (waitsForRoom(now)) return roomWords(row.name);
  if (state === 'start_failed') {
    const title = context.startFailure?.summary.split('\n')[0] ?? '';
    return `${row.name} could not start.\n${title}\nIts owner can see why and start it again.`;
  }
  if (state === 'installing') return `${row.name} is being set up. Try again in a few minutes.`;
  return stopText(now);
}

/** Returns the kick message for a player who joins now; '' if they can join or wake the server. */
function refusalText(now: ServerNow, at: number): string {
  const { row, state, context } = now;
  if (state === 'installing') return kickText(now);
  if (state === 'install_failed') return NOT_INSTALLED;
  const { silentSince = null } = context.live;
  if (state !== 'running' || silentSince === null || at - silentSince < SILENT_MS) return '';
  return `${row.name} is not responding.\nIf this continues, it restarts. Try again in a few minutes.`;
}
