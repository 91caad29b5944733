import { domainToASCII } from 'node:url';
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { type AuditEntry, recordThrough } from '../audit/audit.ts';
import { invalidFields } from '../http/errors.ts';
import { every } from '../kernel/every.ts';
import { isSlug } from '../kernel/ids.ts';
import { createKeyedMutex, createMutex } from '../kernel/mutex.ts';
import { StatusError } from '../kernel/status.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../kernel/units.ts';
import { requireHostname, requireServer, serverExists } from '../servers/rows.ts';
import type { Shared } from '../servers/shared.ts';
import { isDuplicate } from '../store/errors.ts';
import type { Secret } from '../store/secret.ts';
import type { Tx } from '../store/store.ts';
import { type ServerNameRow, deleteServerName, listServerNames, saveServerName } from './rows.ts';

/** Returns the TXT records of a name, each as its parts. Rejects with `code` ENOTFOUND or ENODATA if there are none. */
export type ResolveTxt = (name: string) => Promise<string[][]>;

/** Adds the caller's audit entry, in the write of the change. */
type Record = (tx: Tx) => Promise<void>;

/** A former address leads to its server for this long. */
const FORMER_MS = 30 * DAY_MS;
/** A name without proof for this long is released. */
const UNPROVED_MS = 7 * DAY_MS;
const CHECK_MS = 10 * MINUTE_MS;
/** A proof is repeated this often. */
const PROOF_AGE_MS = 12 * HOUR_MS;
/** Limit of own names, and of former addresses, of a server. */
const MOST_NAMES = 5;
const AT_ONCE = 8;
const MOST_RECORDS = 50;

const UNCHECKED = 'a name of a server could not be checked';
const recordOfNames = recordThrough('system names');

/**
 * Further names of servers. An own name counts once a TXT record at `_dormouse.<name>` contains the server's token, so
 * only the owner of the domain decides to which server it leads. One server at a time holds a name: another one gets it
 * only when the record has its token and no longer that of the holder.
 */
export class OwnNames {
  readonly #shared: Shared;
  readonly #secret: Secret;
  readonly #settings: { ownNames: 'on' | 'off'; publicHost: string };
  readonly #resolve: ResolveTxt;
  readonly #changed: (serverId: string, names: readonly string[]) => void;
  readonly #byServer = new Map<string, readonly ServerNameRow[]>();
  readonly #withLock = createMutex();
  readonly #withNameLock = createKeyedMutex();
  #checking: Promise<void> | undefined;

  private constructor(
    shared: Shared,
    secret: Secret,
    settings: { ownNames: 'on' | 'off'; publicHost: string },
    resolve: ResolveTxt,
    changed: (serverId: string, names: readonly string[]) => void,
  ) {
    this.#shared = shared;
    this.#secret = secret;
    this.#settings = settings;
    this.#resolve = resolve;
    this.#changed = changed;
  }

  /** `changed` gets the routed names of a server. Without `resolve`, the machine's DNS servers are asked. */
  static async open(
    this: void,
    shared: Shared,
    secret: Secret,
    settings: { ownNames: 'on' | 'off'; publicHost: string },
    changed: (serverId: string, names: readonly string[]) => void,
    resolve: ResolveTxt = resolveTxt,
  ): Promise<OwnNames> {
    const names = new OwnNames(shared, secret, settings, resolve, changed);
    const stored = Map.groupBy(await listServerNames(shared.store), ({ serverId }) => serverId);
    for (const [id, rows] of stored) names.#note(id, rows);
    const { clock, log, servers, onClose } = shared;
    const check = () => {
      names.check().catch((err: unknown) => log.warn({ err }, UNCHECKED));
    };
    onClose(every(clock, CHECK_MS, check));
    onClose(servers.observe((id, now) => now ?? names.#note(id, [])));
    return names;
  }

  /** Returns the own names and former addresses of a server, oldest first. */
  of(serverId: string): readonly ServerNameRow[] {
    return this.#byServer.get(serverId) ?? [];
  }

  /**
   * Returns the TXT record that proves a name for a server. It changes if the name is added again, because the server
   * may be another one with the id of a deleted one.
   */
  proofOf({ name, serverId, createdAt }: ServerNameRow): { name: string; value: string } {
    const token = this.#secret.derive('own name', `${serverId}\0${name}\0${createdAt}`).slice(0, 32);
    return { name: `_dormouse.${name}`, value: `dormouse=${token}` };
  }

  /**
   * Adds an own name, or checks a known one again. Asks DNS before it resolves. Rejects with INVALID_FIELD;
   * FAILED_PRECONDITION OWN_NAMES_OFF; RESOURCE_EXHAUSTED MAX_NAMES; NOT_FOUND.
   */
  async add(serverId: string, given: string, record: Record): Promise<void> {
    if (this.#settings.ownNames === 'off') {
      const sentence = 'This service does not allow own names. Ask its operator.';
      throw new StatusError('FAILED_PRECONDITION', 'OWN_NAMES_OFF', sentence);
    }
    const name = this.#normal(given);
    await this.#withLock(async () => {
      const mine = this.of(serverId).filter((row) => isOwn(row));
      if (mine.some((row) => row.name === name)) return;
      if (mine.length >= MOST_NAMES) throw tooMany('own names');
      const now = this.#shared.clock.now();
      await this.#write(serverId, async (tx) => {
        await requireServer(tx, serverId);
        await saveServerName(tx, { name, serverId, createdAt: now, provedAt: null, expiresAt: now + UNPROVED_MS });
        await record(tx);
      });
    });
    await this.#checkName(name);
  }

  /** Removes an own name or a former address. Rejects with NOT_FOUND NAME_NOT_FOUND. */
  remove(serverId: string, given: string, record: Record): Promise<void> {
    const name = normalName(given);
    return this.#withLock(async () => {
      const row = this.of(serverId).find((each) => each.name === name);
      if (!row) throw new StatusError('NOT_FOUND', 'NAME_NOT_FOUND', 'The server has no such name.');
      await this.#write(serverId, async (tx) => {
        await deleteServerName(tx, row);
        await record(tx);
      });
    });
  }

  /**
   * Changes the first label of a server's address. The former one leads to the server for 30 days, and no other server
   * can get it meanwhile. Rejects with INVALID_FIELD; ALREADY_EXISTS; RESOURCE_EXHAUSTED MAX_NAMES.
   */
  rename(serverId: string, hostname: string, record: Record): Promise<void> {
    if (!isSlug(hostname)) {
      const description = 'must be 1 to 40 of a-z, 0-9 and inner hyphens, and not a reserved name';
      throw invalidFields([{ field: 'hostname', description }]);
    }
    return this.#withLock(async () => {
      const { servers, clock } = this.#shared;
      const former = (await servers.get(serverId))?.row.hostname;
      if (former === hostname) return;
      const kept = this.of(serverId).filter((row) => !isOwn(row) && row.name !== hostname);
      if (kept.length >= MOST_NAMES) throw tooMany('former addresses');
      const createdAt = clock.now();
      // Players find the former address at any instant of the change.
      if (former !== undefined) this.#changed(serverId, [...this.#routed(this.of(serverId)), this.#below(former)]);
      try {
        await servers.patch(serverId, { hostname }, async (tx) => {
          await requireServer(tx, serverId);
          await requireHostname(tx, { id: serverId, hostname });
          await deleteServerName(tx, { name: hostname, serverId });
          const row = { serverId, createdAt, provedAt: null, expiresAt: createdAt + FORMER_MS };
          if (former !== undefined) await saveServerName(tx, { name: former, ...row });
          await record(tx);
        });
      } catch (error) {
        throw isDuplicate(error) ? serverExists({ id: serverId, hostname }, error) : error;
      } finally {
        await this.#reload(serverId);
      }
    });
  }

  /** Checks the names that are due, and releases those that have expired. */
  check(): Promise<void> {
    this.#checking ??= this.#checkDue().finally(() => (this.#checking = undefined));
    return this.#checking;
  }

  async #checkDue(): Promise<void> {
    const now = this.#shared.clock.now();
    const rows = [...this.#byServer.values()].flat();
    for (const row of rows) if (!isOwn(row) && row.expiresAt <= now) await this.#release(row, 'server.name.expire');
    if (this.#settings.ownNames === 'off') return;
    const due = rows.filter((row) => isOwn(row) && (row.provedAt ?? 0) + PROOF_AGE_MS <= now);
    const names = [...new Set(due.map(({ name }) => name))];
    while (names.length > 0) {
      const checked = await Promise.allSettled(names.splice(0, AT_ONCE).map((name) => this.#checkName(name)));
      for (const each of checked)
        if (each.status === 'rejected') this.#shared.log.warn({ err: each.reason }, UNCHECKED);
    }
  }

  /** Asks DNS once for all servers that claim a name. Without an answer, only names that were never proved expire. */
  #checkName(name: string): Promise<void> {
    return this.#withNameLock(name, async () => {
      const texts = await this.#texts(`_dormouse.${name}`);
      await this.#withLock(async () => {
        const now = this.#shared.clock.now();
        const claims = [...this.#byServer.values()].flat().filter((row) => row.name === name);
        const rows = claims.toSorted((one, other) => one.createdAt - other.createdAt);
        if (texts === undefined) {
          for (const row of rows)
            if (row.provedAt === null && row.expiresAt <= now) await this.#release(row, 'server.name.release');
          return;
        }
        const proved = rows.filter((row) => texts.has(this.proofOf(row).value));
        // Oldest first, so that of several new claims the first one gets the name.
        const holder = proved.find((row) => row.provedAt !== null) ?? proved[0];
        for (const row of rows) {
          const isMoved = row.provedAt !== null && holder !== undefined && holder !== row;
          if (row !== holder && (isMoved || row.expiresAt <= now)) await this.#release(row, 'server.name.release');
        }
        if (!holder) return;
        const next = { ...holder, provedAt: now, expiresAt: now + UNPROVED_MS };
        await this.#write(next.serverId, async (tx) => {
          await requireServer(tx, next.serverId);
          await saveServerName(tx, next);
          if (holder.provedAt === null) await this.#record(tx, next, 'server.name.prove');
        });
      });
    });
  }

  /** Returns the texts at a name; undefined if DNS does not respond. */
  async #texts(name: string): Promise<Set<string> | undefined> {
    try {
      return new Set((await this.#resolve(name)).slice(0, MOST_RECORDS).map((parts) => parts.join('').trim()));
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOTFOUND' || code === 'ENODATA') return new Set();
      this.#shared.log.debug({ name, code }, 'DNS did not respond');
      return undefined;
    }
  }

  async #release(row: ServerNameRow, action: string): Promise<void> {
    await this.#write(row.serverId, async (tx) => {
      await deleteServerName(tx, row);
      await this.#record(tx, row, action);
    });
    this.#shared.log.info({ server: row.serverId, name: row.name }, 'a name of a server was released');
  }

  async #record(tx: Tx, { serverId, name }: ServerNameRow, action: string): Promise<void> {
    const [server] = await tx.query<{ accountId: string }>('SELECT "accountId" FROM "servers" WHERE "id" = $1', [
      serverId,
    ]);
    if (!server) return;
    const entry: AuditEntry = { ...server, serverId, action, detail: name, at: this.#shared.clock.now() };
    await recordOfNames(tx, entry);
  }

  /** Reads the server's rows again even after a rejected write, because it may be stored nevertheless. */
  async #write(serverId: string, work: (tx: Tx) => Promise<void>): Promise<void> {
    try {
      await this.#shared.store.write(work);
    } finally {
      await this.#reload(serverId);
    }
  }

  async #reload(serverId: string): Promise<void> {
    this.#note(serverId, await listServerNames(this.#shared.store, serverId));
  }

  #note(serverId: string, rows: readonly ServerNameRow[]): void {
    if (rows.length === 0) this.#byServer.delete(serverId);
    else this.#byServer.set(serverId, rows);
    this.#changed(serverId, this.#routed(rows));
  }

  #routed(rows: readonly ServerNameRow[]): string[] {
    return rows.flatMap((row) => {
      if (!isOwn(row)) return [this.#below(row.name)];
      // PUBLIC_HOST may have changed since.
      const counts = row.provedAt !== null && this.#settings.ownNames === 'on' && !this.#isOurs(row.name);
      return counts ? [row.name] : [];
    });
  }

  /** Whether a name is one that this service gives to servers. */
  #isOurs(name: string): boolean {
    return `.${name}`.endsWith(`.${this.#settings.publicHost}`.toLowerCase());
  }

  #below(label: string): string {
    return `${label}.${this.#settings.publicHost}`.toLowerCase();
  }

  /** Returns a host name in the form that DNS and clients use. Throws INVALID_FIELD. */
  #normal(given: string): string {
    const name = normalName(given);
    const refuse = (description: string) => invalidFields([{ field: 'name', description }]);
    const isName = name.length <= 240 && isIP(name) === 0 && HOST.test(name);
    if (!isName || /(?:^|\.)(?:localhost|local|\d+)$/.test(name))
      throw refuse('must be a host name such as play.example.org');
    if (this.#isOurs(name)) throw refuse('must not be a name of this service');
    return name;
  }
}

/** Returns a host name as DNS and clients write it; '' if it cannot be one. A single label stays as it is. */
export function normalName(given: string): string {
  return domainToASCII(given.trim().replace(/\.$/, ''));
}

const HOST = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether a name is an own name, not a former address. */
export function isOwn({ name }: { name: string }): boolean {
  return name.includes('.');
}

function tooMany(what: string): StatusError {
  const message = `A server can have at most ${MOST_NAMES} ${what}. Remove one first.`;
  return new StatusError('RESOURCE_EXHAUSTED', 'MAX_NAMES', message, { metadata: { limit: String(MOST_NAMES) } });
}

/** Asks the machine's DNS servers, for at most about 4 s. */
const resolveTxt: ResolveTxt = (name) => new Resolver({ timeout: 2_000, tries: 2 }).resolveTxt(name);
