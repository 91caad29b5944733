import { deviceGrantMachine, grantState } from '../../machines/device-grant.ts';
import { eventName, statechartOf } from '../../machines/event-names.ts';
import type { Cause } from '../../machines/server-types.ts';
import { type ServerSnapshot, serverMachine } from '../../machines/server.ts';
import { type MachineStep, type StepListener, pathOf } from '../actors/machine-step.ts';
import type { LostGame, LostGames } from '../engines/lost-games.ts';
import type { Clock } from '../kernel/clock.ts';
import { StatusError } from '../kernel/status.ts';
import type { AuditActor } from '../people/audit/audit.ts';
import type { Grants } from '../people/grants/grants.ts';
import { DEVICE, changesIn } from '../people/grants/history.ts';
import { type Intervention, eventNotLegal, operatorEvents } from '../servers/operator-events.ts';
import type { Servers } from '../servers/servers.ts';
import { listTransitions } from '../servers/transition-rows.ts';
import type { Store } from '../store/store.ts';
import {
  type MachineCursor,
  type MachineFilter,
  type MachineRow,
  countMachines,
  findMachine,
  listMachines,
} from './machine-list.ts';
import { type StoredSnapshot, type Wait, grantWaits, serverWaits } from './waits.ts';

/** A machine in a list. */
export interface MachineSummary {
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
export interface MachineQuery {
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
export interface OperatorAct {
  event: string;
  /** A cause of kind `operator`; the note is the reason. */
  cause: Cause;
  actor: AuditActor;
  accountId: string;
}

/** All state machines of the installation, for operators. Read from the store, so that listing wakes no server. */
export interface Machines {
  /** Returns a page, transitional states first; `next` is '' on the last. INVALID_ARGUMENT for an invalid `after`. */
  list(query: MachineQuery): Promise<{ machines: MachineSummary[]; next: string }>;
  /** Returns the number of machines in each state; the query's own state is ignored. */
  count(query: MachineQuery): Promise<{ state: string; count: number }[]>;
  inspect(id: string): Promise<MachineDetail | undefined>;
  /**
   * Sends an event to a machine and resolves once the step is stored. NOT_FOUND; FAILED_PRECONDITION EVENT_NOT_LEGAL
   * with the legal ones; and any refusal that an owner would get, such as for empty funds on START.
   */
  send(id: string, act: OperatorAct): Promise<void>;
  /** Reports each stored transition; costs nothing without followers. Returns a function that removes the listener. */
  follow(listener: StepListener): () => void;
}

export interface MachinesOptions {
  store: Store;
  clock: Clock;
  servers: Servers;
  grants: Grants;
  /** The games on unresponsive machines, if games run on several. */
  lostGames?: LostGames | undefined;
}

/** Limit of transitions shown per machine; there are no further pages. */
const KEPT_TRANSITIONS = 50;
const SERVER_CHART = statechartOf(serverMachine);
const GRANT_CHART = statechartOf(deviceGrantMachine);
/** The urgencies (`MachineRow`) of transitional states: servers in transition, waiting grants. */
const PASSING = new Set([0, 3]);

export function createMachines({ store, clock, servers, grants, lostGames }: MachinesOptions): Machines {
  const summary = (row: MachineRow) => summaryOf(row, lostGames?.of(row.id));

  function filterOf({ kind = '', state = '', search = '', stuckForMs }: MachineQuery): MachineFilter {
    const now = clock.now();
    return { kind, state, search, now, stuckSince: stuckForMs === undefined ? undefined : now - stuckForMs };
  }

  return {
    async list(query) {
      const after = query.after ? cursorOf(query.after) : undefined;
      const rows = await listMachines(store, filterOf(query), after, query.limit + 1);
      const page = rows.slice(0, query.limit);
      return { machines: page.map(summary), next: rows.length > page.length ? cursorText(page.at(-1)!) : '' };
    },
    count: (query) => countMachines(store, filterOf(query)),
    async inspect(id) {
      const row = await findMachine(store, id, clock.now());
      if (!row) return undefined;
      const shown = summary(row);
      const { deadlineAt, state } = shown;
      const keepAwake = keptAwakeUntil(row);
      return {
        ...shown,
        legalEvents: legalEvents(row, clock.now()),
        deadlines: [
          ...(deadlineAt === null ? [] : [{ name: state, at: deadlineAt }]),
          ...(keepAwake > clock.now() ? [{ name: 'keepAwake', at: keepAwake }] : []),
        ],
        transitions: await transitionsOf(store, row),
        snapshot: redacted(JSON.parse(row.snapshot)),
        definition: row.kind === 'server' ? SERVER_CHART : GRANT_CHART,
      };
    },
    async send(id, { event, cause, actor, accountId }) {
      const at = clock.now();
      const row = await findMachine(store, id, at);
      if (!row)
        throw new StatusError('NOT_FOUND', 'MACHINE_NOT_FOUND', 'There is no such machine.', { metadata: { id } });
      const legal = legalEvents(row, at);
      if (!legal.includes(event)) throw eventNotLegal(id, row.state, event, legal);
      if (row.kind === 'grant') await grants.intervene(id, { actor, accountId, cause });
      else await servers.intervene(id, { type: event, at, cause } as Intervention);
    },
    follow(listener) {
      const cancel = [servers.follow(listener), grants.follow(listener)];
      return () => {
        for (const each of cancel) each();
      };
    },
  };
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
