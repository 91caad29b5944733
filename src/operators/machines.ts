import { deviceGrantMachine, grantState } from '../../machines/device-grant.ts';
import { eventName, statechartOf } from '../../machines/event-names.ts';
import type { Cause, Job } from '../../machines/server-types.ts';
import { type ServerSnapshot, serverMachine } from '../../machines/server.ts';
import { type MachineStep, type StepListener, pathOf } from '../actors/machine-step.ts';
import type { LostGame, LostGames } from '../engines/lost-games.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import type { AuditActor } from '../audit/audit.ts';
import type { Grants } from '../grants/grants.ts';
import { DEVICE, changesIn } from '../grants/actors.ts';
import { type Intervention, eventNotLegal, operatorEvents } from '../servers/machine-events.ts';
import type { Servers } from '../servers/servers.ts';
import { listTransitions } from '../servers/machine-rows.ts';
import type { Shared } from '../servers/shared.ts';
import type { Store } from '../store/store.ts';
import {
  type MachineCursor,
  type MachineFilter,
  type MachineRow,
  countMachines,
  findMachine,
  listMachines,
} from './machine-list.ts';

/** A machine in a list. */
interface MachineSummary {
  id: string;
  kind: 'server' | 'grant';
  /** A server's name, or the app that requested a grant. */
  name: string;
  /** '' for a grant. */
  accountId: string;
  /** The wire state, `deleting`, or `maintaining`. */
  state: string;
  /** Its path in the statechart: `stopping.halting`. */
  path: string;
  since: number;
  cause: Cause;
  waitsFor: Wait[];
  deadlineAt: number | null;
  /** Whether its state is transitional. */
  passing: boolean;
}

/** One machine in full. */
export interface MachineDetail extends MachineSummary {
  /** The events that `send` accepts now. */
  legalEvents: string[];
  deadlines: { name: string; at: number }[];
  /** The newest 50, newest first. */
  transitions: Pick<MachineStep, 'at' | 'event' | 'from' | 'to' | 'cause'>[];
  /** As stored, without possible secrets. */
  snapshot: unknown;
  /** The statechart as plain JSON. */
  definition: object;
}

/** The machines to list. '' or absent: any. */
interface MachineQuery {
  kind?: MachineFilter['kind'];
  state?: string;
  search?: string;
  /** Only those that have been in a transitional state for this long. */
  stuckForMs?: number | undefined;
  /** `next` of the previous page. */
  after?: string;
  limit: number;
}

/** An event that an operator sends. */
interface OperatorAct {
  event: string;
  /** A cause of kind `operator`; the note is the reason. */
  cause: Cause;
  actor: AuditActor;
  accountId: string;
}

/** Limit of transitions shown per machine; there are no further pages. */
const KEPT_TRANSITIONS = 50;
const SERVER_CHART = statechartOf(serverMachine);
const GRANT_CHART = statechartOf(deviceGrantMachine);
/** The urgencies (`MachineRow`) of transitional states: servers in transition, waiting grants. */
const PASSING = new Set([0, 3]);

/** All state machines of the installation, for operators. Read from the store, so that listing wakes no server. */
export class Machines {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #servers: Servers;
  readonly #grants: Grants;
  readonly #lostGames: LostGames | undefined;

  /** `lostGames`: the games on unresponsive machines, if games run on several. */
  constructor({ store, clock, servers }: Shared, grants: Grants, lostGames?: LostGames) {
    this.#store = store;
    this.#clock = clock;
    this.#servers = servers;
    this.#grants = grants;
    this.#lostGames = lostGames;
  }

  /** Returns a page, transitional states first; `next` is '' on the last. INVALID_ARGUMENT for an invalid `after`. */
  async list(query: MachineQuery): Promise<{ machines: MachineSummary[]; next: string }> {
    const after = query.after ? cursorOf(query.after) : undefined;
    const rows = await listMachines(this.#store, this.#filterOf(query), after, query.limit + 1);
    const page = rows.slice(0, query.limit);
    const next = rows.length > page.length ? cursorText(page.at(-1)!) : '';
    return { machines: page.map((row) => this.#summaryOf(row)), next };
  }

  /** Returns the number of machines in each state; the query's own state is ignored. */
  count(query: MachineQuery): Promise<{ state: string; count: number }[]> {
    return countMachines(this.#store, this.#filterOf(query));
  }

  async inspect(id: string): Promise<MachineDetail | undefined> {
    const now = this.#clock.now();
    const row = await findMachine(this.#store, id, now);
    if (!row) return undefined;
    const shown = this.#summaryOf(row);
    const { deadlineAt, state } = shown;
    const keepAwake = keptAwakeUntil(row);
    return {
      ...shown,
      legalEvents: legalEvents(row, now),
      deadlines: [
        ...(deadlineAt === null ? [] : [{ name: state, at: deadlineAt }]),
        ...(keepAwake > now ? [{ name: 'keepAwake', at: keepAwake }] : []),
      ],
      transitions: await transitionsOf(this.#store, row),
      snapshot: redacted(JSON.parse(row.snapshot)),
      definition: row.kind === 'server' ? SERVER_CHART : GRANT_CHART,
    };
  }

  /**
   * Sends an event to a machine and resolves once the step is stored. NOT_FOUND; FAILED_PRECONDITION EVENT_NOT_LEGAL
   * with the legal ones; and any refusal that an owner would get, such as for empty funds on START.
   */
  async send(id: string, { event, cause, actor, accountId }: OperatorAct): Promise<void> {
    const at = this.#clock.now();
    const row = await findMachine(this.#store, id, at);
    if (!row)
      throw new StatusError('NOT_FOUND', 'MACHINE_NOT_FOUND', 'There is no such machine.', { metadata: { id } });
    const legal = legalEvents(row, at);
    if (!legal.includes(event)) throw eventNotLegal(id, row.state, event, legal);
    if (row.kind === 'grant') await this.#grants.intervene(id, { actor, accountId, cause });
    else await this.#servers.intervene(id, { type: event, at, cause } as Intervention);
  }

  /** Reports each stored transition; costs nothing without followers. Returns a function that removes the listener. */
  follow(listener: StepListener): () => void {
    const cancel = [this.#servers.follow(listener), this.#grants.follow(listener)];
    return () => {
      for (const each of cancel) each();
    };
  }

  #summaryOf(row: MachineRow): MachineSummary {
    return summaryOf(row, this.#lostGames?.of(row.id));
  }

  #filterOf({ kind = '', state = '', search = '', stuckForMs }: MachineQuery): MachineFilter {
    const now = this.#clock.now();
    return { kind, state, search, now, stuckSince: stuckForMs === undefined ? undefined : now - stuckForMs };
  }
}

function summaryOf(row: MachineRow, lost: LostGame | undefined): MachineSummary {
  const { id, kind, name, accountId, state, since } = row;
  const stored = JSON.parse(row.snapshot) as StoredSnapshot & {
    value: Parameters<typeof pathOf>[0];
    context: { cause?: Cause };
  };
  const waitsFor = kind === 'server' ? serverWaits(stored, lost) : grantWaits(state, stored);
  const cause = stored.context.cause ?? changesIn(row.history).at(-1)?.cause ?? DEVICE;
  const deadlineAt = stored.context.deadlineAt ?? null;
  const passing = PASSING.has(row.urgency);
  return { id, kind, name, accountId, state, path: pathOf(stored.value), since, cause, waitsFor, deadlineAt, passing };
}

/**
 * Returns the events an operator can send. A waiting grant can be denied, but not approved, which only its user may do,
 * nor polled on behalf of its device.
 */
function legalEvents(row: MachineRow, at: number): string[] {
  if (row.kind === 'server') {
    const { value, context } = JSON.parse(row.snapshot) as ServerSnapshot;
    try {
      return operatorEvents(serverMachine.resolveState({ value, context }), at);
    } catch {
      // The state is unknown to this version.
      return [];
    }
  }
  const { expiresAt = 0 } = (JSON.parse(row.snapshot) as StoredSnapshot).context;
  return row.state === 'pending' && expiresAt > at ? ['DENY'] : [];
}

function keptAwakeUntil({ snapshot }: MachineRow): number {
  return (JSON.parse(snapshot) as { context: { keepAwakeUntil?: number } }).context.keepAwakeUntil ?? 0;
}

async function transitionsOf(store: Store, { kind, id, history }: MachineRow): Promise<MachineDetail['transitions']> {
  if (kind === 'grant') {
    const changes = changesIn(history).toReversed();
    return changes.map(({ from, to, ...change }) =>
      Object.assign(change, { from: grantState(from), to: grantState(to) }),
    );
  }
  const rows = await listTransitions(store, id, KEPT_TRANSITIONS);
  return rows.map(({ at, event, from, to, cause }) => ({
    at,
    event: eventName(event),
    from,
    to,
    cause: JSON.parse(cause) as Cause,
  }));
}

function cursorText({ urgency, sortedBy, id }: MachineCursor): string {
  return Buffer.from(`${urgency}.${sortedBy}.${id}`).toString('base64url');
}

function cursorOf(text: string): MachineCursor {
  const [, urgency, sortedBy, id] =
    /^(\d)\.(\d{1,15})\.([\w-]{1,64})$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  if (id === undefined) {
    throw new StatusError('INVALID_ARGUMENT', 'INVALID_FIELD', 'after must be the value of next from an earlier page.');
  }
  return { urgency: Number(urgency), sortedBy: Number(sortedBy), id };
}

/** Names of fields that may hold a secret. */
const SECRET = /pass(?:word|phrase)?$|secret|token|credential|authorization|cookie|hmac|hash$|private/i;
/** Our own keys, tokens and device codes (`ids.ts`), anywhere in a text. */
const MINTED = /\bdm[a-z]_[0-9A-Za-z]{16,}/g;
/** `rcon.password=…`, `"token": "…"`, `--secret …` in a log line. */
const ASSIGNED =
  /((?:pass(?:word|phrase)?|secret|token|authorization)["']?\s*[=:]\s*)(?:"[^"]*"|'[^']*'|(?:bearer\s+)?\S+)/gi;
const REDACTED = '[redacted]';

/** Returns a copy of plain JSON without possible secrets, detected by field names and text patterns. */
export function redacted(value: unknown): unknown {
  if (typeof value === 'string') return value.replaceAll(MINTED, REDACTED).replaceAll(ASSIGNED, `$1${REDACTED}`);
  if (Array.isArray(value)) return value.map(redacted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [
      name,
      SECRET.test(name) && field !== null ? REDACTED : redacted(field),
    ]),
  );
}

/** A wait of a machine. */
interface Wait {
  /** The active invoke, or the awaited event. */
  name: string;
  /** A description such as `the engine to end the game`. */
  what: string;
  /** When the wait ends (epoch ms); null if unknown. */
  until: number | null;
}

/** The parts of a persisted snapshot (XState) that show current effects. */
interface StoredSnapshot {
  context: { deadlineAt?: number | null; kill?: boolean; expiresAt?: number; job?: Job | null };
  children?: Record<string, { snapshot?: { input?: unknown } } | undefined>;
}

const INVOKES: Record<string, string> = {
  install: 'the installer to finish',
  boot: 'the game to be ready for players',
  halt: 'the engine to save and end the game',
  erase: 'everything that belongs to the server to be removed',
  pause: 'a few seconds to pass before the next attempt',
  room: 'a machine with free capacity',
  watch: 'the next reading of the running game',
};
const JOBS: Record<Job['kind'], string> = {
  'backup.restore': 'a backup to be restored',
  'world.reset': 'a world to be reset',
  'world.delete': 'a world to be removed',
};
const AT_ONCE = 'the engine to end the game at once';

/**
 * Returns what a server waits for: its active invokes. Empty at rest, when only a command changes anything. `lost` puts
 * all of them on hold, because the server's node is unresponsive and may still run its game.
 */
function serverWaits({ context, children = {} }: StoredSnapshot, lost?: LostGame): Wait[] {
  const until = context.deadlineAt ?? null;
  const invokes = Object.entries(children).filter(([name]) => name !== 'alarm');
  if (lost) {
    const what = `${lost.node} to respond or to be marked as off. It may still run the game`;
    return invokes.map(([name]) => ({ name, what, until: null }));
  }
  return invokes.map(([name, child]) => ({
    name,
    what: name === 'halt' && isKill(child?.snapshot?.input) ? AT_ONCE : (whatIsDone(name, context.job) ?? name),
    until: name === 'watch' ? null : until,
  }));
}

/** Returns what a grant waits for: its user or its device. */
function grantWaits(state: string, { context }: StoredSnapshot): Wait[] {
  const until = context.expiresAt ?? null;
  if (state === 'approved') return [{ name: 'POLL', what: 'the device to fetch its token', until }];
  if (state !== 'pending') return [];
  return [{ name: 'APPROVE', what: 'its user to approve or decline it', until }];
}

function whatIsDone(invoke: string, job: Job | null | undefined): string | undefined {
  return invoke === 'maintain' && job ? JOBS[job.kind] : INVOKES[invoke];
}

function isKill(input: unknown): boolean {
  return typeof input === 'object' && input !== null && 'kill' in input && input.kill === true;
}
