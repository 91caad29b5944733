import { isDeepStrictEqual } from 'node:util';
import { HUNG } from '../../machines/server-reasons.ts';
import type { Cause } from '../../machines/server-types.ts';
import type { MachineStep } from '../actors/machine-step.ts';
import { type AuditActor, recordAudit, recordThrough } from '../audit/audit.ts';
import type { CoreBuilds } from '../engines/process/cores/core-builds.ts';
import { compareNumbered } from '../kernel/natural-order.ts';
import { softwareText } from '../game/cores.ts';
import { compareVersions } from '../game/minecraft-version.ts';
import { forgetBuild, noteBuild, notedBuild } from '../game/installed-build.ts';
import { inProgress } from '../jail/change-lock.ts';
import { dataRoot } from '../jail/data-root.ts';
import type { FileOwner } from '../kernel/atomic-file.ts';
import { every } from '../kernel/every.ts';
import { StatusError } from '../kernel/status.ts';
import { abortable, withTimeout } from '../kernel/timeout.ts';
import { DAY_MS, HOUR_MS } from '../kernel/units.ts';
import {
  type CoreBuild,
  type PendingUpdate,
  type ServerRow,
  buildOnTrial,
  listFailedUpdates,
  listSleepersForNewBuilds,
} from './rows.ts';
import { notStopped } from './refusals.ts';
import { type ServerNow, waitsForRoom } from './server-now.ts';
import type { Shared } from './shared.ts';
import { isStopped } from './snapshots.ts';

/** How long a caller waits for each source of a plan. */
const PLAN_MS = 5_000;

/** Failures of a start that do not depend on the build. */
const UNRELATED: ReadonlySet<string> = new Set([
  'disk_full',
  'engine_unavailable',
  'eula_not_accepted',
  'image_pull_failed',
  'no_room',
  'no_room_found',
  'permission_denied',
  'port_in_use',
  'read_only_disk',
  'world_locked',
]);

const BUILDS: AuditActor = { userId: '', through: 'system builds' };
const recordOfBuilds = recordThrough(BUILDS.through);

export interface UpdatesOptions extends Pick<Shared, 'store' | 'servers' | 'clock' | 'log' | 'onClose'> {
  builds: CoreBuilds;
  dataDir: string;
  owner: FileOwner | undefined;
  /** Creates a backup before the software changes, and returns its id; '' if there is no world. */
  worlds: { backUp(server: ServerRow, actor: AuditActor, signal: AbortSignal, label: string): Promise<string> };
  mods: { withoutVersion(serverId: string, host: Omit<CoreBuild, 'build'>, signal: AbortSignal): Promise<string[]> };
}

/**
 * Updates of servers' software. An update stays pending in the server's row until a run has ended in order. Servers
 * with `latest-when-asleep` get the newest build of their core while they sleep. If a start fails, they return to the
 * build before it.
 */
export class Updates {
  readonly #options: UpdatesOptions;
  readonly #closing = new AbortController();
  readonly #inFlight = new Set<Promise<void>>();
  /** Looks for new builds, one server after the other. */
  #looking: Promise<void> = Promise.resolve();
  readonly #toLookAt = new Set<string>();
  /** Until when a server whose backup failed is left alone, so that failures do not pile up. */
  readonly #notBefore = new Map<string, number>();

  private constructor(options: UpdatesOptions) {
    this.#options = options;
  }

  /** Takes back the builds that failed before this process. Call it when the servers are live. */
  static async open(options: UpdatesOptions): Promise<Updates> {
    const { store, servers, clock, onClose } = options;
    const updates = new Updates(options);
    for (const id of await listFailedUpdates(store)) updates.#run(id, () => updates.#takeBack(id));
    const unfollow = servers.follow((step) => updates.#stepped(step));
    const stop = every(clock, HOUR_MS, () => updates.#run('', () => updates.#lookForAll()));
    onClose(async () => {
      unfollow();
      stop();
      updates.#closing.abort();
      await Promise.all([...updates.#inFlight, updates.#looking]);
    });
    return updates;
  }

  /**
   * Returns what a change to `wanted` means. A source that does not respond in time leaves its part empty. After an
   * update that no run has confirmed, the way back leads to the software before it.
   */
  async plan(row: ServerRow, wanted: Omit<CoreBuild, 'build'>, signal: AbortSignal): Promise<PendingUpdate> {
    const { builds, mods } = this.#options;
    const { type, version, pendingUpdate } = row;
    const to = { type: wanted.type, version: wanted.version, build: '' };
    const isOther = to.type !== type || to.version !== version;
    const [now, newest, modsWithout] = await Promise.all([
      notedBuild(this.#rootOf(row.id), row),
      inTime(builds.newest(to.type, to.version), '', signal),
      isOther ? inTime(mods.withoutVersion(row.id, to, signal), [], signal) : [],
    ]);
    return {
      // The backup, if there is one, has the files as `from` left them.
      from: pendingUpdate?.backupId ? pendingUpdate.from : { type, version, build: now ?? '' },
      to: { ...to, build: newest ?? '' },
      backupId: pendingUpdate?.backupId ?? '',
      automatic: false,
      modsWithoutVersion: modsWithout,
    };
  }

  /**
   * Backs a stopped server up and sets its software for the next start, as planned. Rejects with FAILED_PRECONDITION
   * SERVER_NOT_STOPPED, and with ABORTED BACKUP_FAILED or OPERATION_IN_PROGRESS; nothing has changed then.
   */
  async apply(row: ServerRow, plan: PendingUpdate, actor: AuditActor, signal: AbortSignal): Promise<ServerNow> {
    const { servers, clock, worlds, owner } = this.#options;
    const { to } = plan;
    const label = `before the update to ${softwareText(to)}${buildText(to)}`;
    const backupId = await worlds.backUp(row, actor, signal, label);
    const pendingUpdate = { ...plan, backupId: plan.backupId || backupId };
    const change = (current: ServerRow) => {
      // A build adopted in the meantime gives way to the request.
      const before = current.pendingUpdate?.automatic ? { ...current, pendingUpdate: row.pendingUpdate } : current;
      if (!isSameSoftware(before, row)) throw inProgress(row.id, 'another update');
      return { type: to.type, version: to.version, pendingUpdate, refusedBuild: '' };
    };
    const { id: serverId, accountId } = row;
    const entry = { action: 'server.version', accountId, serverId, detail: changeText(row, to), at: clock.now() };
    // Runs while the server accepts no other command, so it cannot start with the old build after this call returns.
    return servers.patchAtRest(serverId, change, async (tx) => {
      await recordAudit(tx, actor, entry);
      await forgetBuild(this.#rootOf(serverId), owner);
    });
  }

  /**
   * Sets the newest build of a stopped server's version for its next start, after a backup. Rejects like `apply`, and
   * with FAILED_PRECONDITION NO_NEWER_BUILD or MODPACK_DECIDES.
   */
  async toNewestBuild(now: ServerNow, actor: AuditActor): Promise<void> {
    const { row } = now;
    if (row.modpackPlatform !== '') throw packDecides(row);
    if (!isStopped(now)) throw notStopped(now);
    const newer = await this.#newerBuild(row);
    if (newer === undefined) {
      const message = `No newer build of ${softwareText(row)} is known.`;
      throw new StatusError('FAILED_PRECONDITION', 'NO_NEWER_BUILD', message, { metadata: { server: row.id } });
    }
    const { signal } = this.#closing;
    const plan = await this.plan(row, row, signal);
    await this.apply(row, { ...plan, to: { ...plan.to, build: newer.newest } }, actor, signal);
  }

  /** Returns the recorded build of a server and a newer one; undefined without either. */
  async #newerBuild(row: ServerRow): Promise<{ pinned: string; newest: string } | undefined> {
    const { type, version, refusedBuild } = row;
    // Without a recorded build, the next start takes the newest anyway.
    const pinned = await notedBuild(this.#rootOf(row.id), row);
    if (pinned === undefined) return undefined;
    const newest = await abortable(this.#options.builds.newest(type, version), this.#closing.signal);
    if (newest === undefined || newest === refusedBuild) return undefined;
    return compareNumbered(newest, buildOnTrial(row) ?? pinned) > 0 ? { pinned, newest } : undefined;
  }

  #stepped({ kind, id, event, from, to, cause }: MachineStep): void {
    if (kind !== 'server' || from === to) return;
    // A job may be the way back, which needs the update until it has succeeded.
    const isInOrder = event !== 'KILL' && event !== 'MAINTAIN' && cause.id !== HUNG.id;
    if (from === 'running' && to === 'stopping' && isInOrder) this.#run(id, () => this.#confirm(id));
    if (to === 'start_failed') this.#run(id, () => this.#takeBackAndStart(id));
    if (to === 'hibernated') this.#look(id);
  }

  /** Ends an update: a run of the new software has ended in order. */
  async #confirm(id: string): Promise<void> {
    const { servers } = this.#options;
    const update = (await servers.get(id))?.row.pendingUpdate ?? null;
    if (update === null) return;
    const confirmed = ({ pendingUpdate }: ServerRow) =>
      isDeepStrictEqual(pendingUpdate, update) ? { pendingUpdate: null, refusedBuild: '' } : {};
    await servers.patch(id, confirmed);
  }

  async #lookForAll(): Promise<void> {
    for (const id of await listSleepersForNewBuilds(this.#options.store)) this.#look(id);
  }

  #look(id: string): void {
    if (this.#toLookAt.has(id)) return;
    this.#toLookAt.add(id);
    this.#looking = this.#looking.then(() => {
      this.#toLookAt.delete(id);
      return this.#logged(id, () => this.#adopt(id));
    });
  }

  /**
   * Sets a newer build for the next start, once there is a backup. A wake waits only for the write, not for the
   * download or the backup.
   */
  async #adopt(id: string): Promise<void> {
    const { servers, clock, builds, worlds } = this.#options;
    const now = await servers.get(id);
    if (now?.state !== 'hibernated' || !isStopped(now)) return;
    const { row } = now;
    const { type, version, pendingUpdate } = row;
    const isRequested = pendingUpdate?.automatic === false;
    if (row.builds !== 'latest-when-asleep' || isRequested || (this.#notBefore.get(id) ?? 0) > clock.now()) return;
    const newer = await this.#newerBuild(row);
    if (newer === undefined) return;
    const { pinned, newest } = newer;
    const { signal } = this.#closing;
    await builds.fetch?.({ core: type, version, build: newest }, signal);
    const from = pendingUpdate?.from ?? { type, version, build: pinned };
    const to = { type, version, build: newest };
    const label = `before the update to ${softwareText(row)} build ${newest}`;
    this.#notBefore.set(id, clock.now() + DAY_MS);
    const backupId = pendingUpdate?.backupId || (await worlds.backUp(row, BUILDS, signal, label));
    this.#notBefore.delete(id);
    const update = { from, to, backupId, automatic: true, modsWithoutVersion: [] };
    let isAdopted = false;
    const adopted = (current: ServerRow) => {
      isAdopted = current.builds === row.builds && isSameSoftware(current, row);
      return isAdopted ? { pendingUpdate: update } : {};
    };
    await servers.patchAtRest(id, adopted, async (tx) => {
      const detail = `${type} ${version}, build ${from.build} → ${to.build}`;
      const entry = { action: 'server.newBuild', accountId: row.accountId, serverId: id, detail, at: clock.now() };
      if (isAdopted) await recordOfBuilds(tx, entry);
    });
  }

  /** Returns to the build before an automatic update whose start has failed. Resolves with the update, if there was one. */
  async #takeBack(id: string): Promise<PendingUpdate | undefined> {
    const { servers, clock, owner, log } = this.#options;
    const now = await servers.get(id);
    const update = now?.row.pendingUpdate;
    if (!now || !update?.automatic || now.state !== 'start_failed' || waitsForRoom(now)) return undefined;
    const { code = '' } = now.context.startFailure ?? {};
    if (UNRELATED.has(code)) return undefined;
    const { accountId } = now.row;
    const { from, to } = update;
    // A download that failed says nothing about the build, but the former one is here.
    const refusedBuild = code === 'download_failed' ? now.row.refusedBuild : to.build;
    let isTaken = false;
    const taken = (current: ServerRow) => {
      isTaken = isSameSoftware(current, now.row);
      return isTaken ? { pendingUpdate: null, refusedBuild } : {};
    };
    await servers.patchAtRest(id, taken, async (tx) => {
      if (!isTaken) return;
      await noteBuild(this.#rootOf(id), now.row, { tenant: accountId, owner, build: from.build });
      const detail = `${from.type} ${from.version}, build ${to.build} → ${from.build}: ${code}`;
      const entry = { action: 'server.buildTakenBack', accountId, serverId: id, detail, at: clock.now() };
      await recordOfBuilds(tx, entry);
    });
    if (!isTaken) return undefined;
    log.warn({ server: id, code }, `${id} returns to build ${from.build} of ${from.type}: build ${to.build} failed`);
    return update;
  }

  /** The failed start was requested, so the request still applies. */
  async #takeBackAndStart(id: string): Promise<void> {
    const { servers, clock } = this.#options;
    const update = await this.#takeBack(id);
    if (update === undefined) return;
    const note = `started again with build ${update.from.build}, because build ${update.to.build} failed`;
    const cause: Cause = { kind: 'system', id: 'update', note };
    await servers.send(id, { type: 'START', at: clock.now(), cause });
  }

  #run(id: string, work: () => Promise<unknown>): void {
    const done = this.#logged(id, work).finally(() => this.#inFlight.delete(done));
    this.#inFlight.add(done);
  }

  /** A failure changes nothing, and the next opportunity tries again. */
  async #logged(id: string, work: () => Promise<unknown>): Promise<void> {
    if (this.#closing.signal.aborted) return;
    try {
      await work();
    } catch (error) {
      if (this.#closing.signal.aborted) return;
      const level = error instanceof StatusError ? 'debug' : 'warn';
      this.#options.log[level]({ server: id, err: error }, 'the build of a server could not be changed');
    }
  }

  #rootOf(id: string): string {
    return dataRoot(this.#options.dataDir, id);
  }
}

/** Returns, for example, `paper 1.21.8 → paper 1.20.4 (downgrade: …)`. */
export function changeText(from: Omit<CoreBuild, 'build'>, to: CoreBuild): string {
  const isOlder = (compareVersions(to.version, from.version) ?? 0) < 0;
  const hint = isOlder ? ' (downgrade: the older version may fail to read the world)' : '';
  return `${from.type} ${from.version} → ${to.type} ${to.version}${buildText(to)}${hint}`;
}

function buildText({ build }: CoreBuild): string {
  return build === '' ? '' : ` build ${build}`;
}

export function packDecides({ id, modpackPlatform, modpackRef }: ServerRow): StatusError {
  const message = 'This server runs a mod pack, which sets the core and version. Change the pack instead.';
  const metadata = { server: id, modpack: `${modpackPlatform}:${modpackRef}` };
  return new StatusError('FAILED_PRECONDITION', 'MODPACK_DECIDES', message, { metadata });
}

/** Whether two rows of a server name the same software, and the same pending update. */
export function isSameSoftware(one: ServerRow, other: ServerRow): boolean {
  const softwareOf = ({ type, version, modpackPlatform, pendingUpdate }: ServerRow) => {
    return { type, version, modpackPlatform, pendingUpdate };
  };
  return isDeepStrictEqual(softwareOf(one), softwareOf(other));
}

/** Returns the result of work, or `otherwise` if it fails or takes too long. */
async function inTime<T>(work: Promise<T>, otherwise: T, signal: AbortSignal): Promise<T> {
  try {
    return await withTimeout(work, PLAN_MS, { signal, late: () => otherwise });
  } catch {
    signal.throwIfAborted();
    return otherwise;
  }
}
