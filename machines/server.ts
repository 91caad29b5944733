/**
 * A server's life. The statechart decides when each event may happen. Effects are named here and implemented in
 * `src/servers/effects.ts`.
 *
 * Time is data: events carry `at` (epoch ms). Deadlines are in the context, and the invoked `alarm` watches them, so
 * that a restored snapshot continues from the same point. Callers check commands with `snapshot.can(event)` and refuse
 * the commands that a state does not handle; facts that a state does not handle are ignored. An accepted no-op names
 * the action `stay`.
 */
import { type SnapshotFrom, assign, fromCallback, fromPromise, setup } from 'xstate';
import {
  FALSE_WAKE_MS,
  awakening,
  awakeningAnew,
  hangs,
  hungBefore,
  initialContext,
  installing,
  leaving,
  leavingAsAnnounced,
  loops,
  mayCrash,
  recentRetries,
  restedFor,
  sameAddress,
  sampled,
  silentSince,
  unclaimed,
  withCrash,
  withHang,
  withoutRoom,
} from './server-context.ts';
import {
  AGAIN_AFTER_HUNG,
  CANCELLED,
  FALSE_WAKE,
  HUNG,
  IDLE,
  INSIDE,
  INSTALL_TIMEOUT,
  START_TIMEOUT,
  UNEXPECTED,
  againAfter,
  crashLoop,
  failureOf,
  hung,
  isNoRoom,
  noRoomFor,
  notAgainAfter,
  outOfLine,
  shownBy,
} from './server-reasons.ts';
import {
  type Address,
  type Booted,
  type Cause,
  type Deadline,
  type Ending,
  type Failure,
  type Finished,
  type Job,
  type Maintained,
  type Reading,
  SERVER_STATES,
  type ServerContext,
  type ServerEvent,
  type ServerInput,
  type ServerState,
  type ServerTag,
  type StartupPhase,
} from './server-types.ts';
import { tagsByState } from './tags.ts';

/** A run that crashes within this time counts as a failed start and is not restarted. */
export const CRASH_GRACE_MS = 60_000;
/** Delay before the next attempt at a stop, job or deletion that failed. */
export const RETRY_MS = 5_000;
const RETRIES_AN_HOUR = 2;

/** Returns an action or a guard that receives the event as its params. */
const given = <const Name extends string>(type: Name) => ({ type, params: <E>({ event }: { event: E }) => event });
/** Returns an action or a guard that receives the result of the invoked effect. */
const output = <const Name extends string>(type: Name) => ({
  type,
  params: <Output>({ event }: { event: { output: Output } }) => event.output,
});
/** Returns the action that begins going to sleep for `cause`, without a request. */
const leaveFor = (cause: Cause) => ({
  type: 'leave' as const,
  params: ({ event: { at } }: { event: { at: number } }) => ({ at, cause }),
});

export const serverMachine = setup({
  types: {
    context: {} as ServerContext,
    events: {} as ServerEvent,
    input: {} as ServerInput,
    tags: {} as ServerTag,
  },
  actors: {
    /** Downloads and sets up the core's content. */
    install: fromPromise<Finished, { id: string }>(unprovided('install')),
    /** Starts the game and waits until it is ready. */
    boot: fromPromise<Booted, { id: string }>(unprovided('boot')),
    /** Ends the game, after saving unless `kill`. Resolves when no part of it runs. */
    halt: fromPromise<Finished, { id: string; kill: boolean }>(unprovided('halt')),
    /** Does a job on the files of a server at rest. */
    maintain: fromPromise<Maintained, { id: string; jobId: string }>(unprovided('maintain')),
    /** Removes everything that belongs to the server. */
    erase: fromPromise<Finished, { id: string }>(unprovided('erase')),
    /** Sends SAMPLE while the game runs. */
    watch: fromCallback<ServerEvent, { id: string }>(() => {}),
    /** Sends ALARM at an instant; at once if it has passed. */
    alarm: fromCallback<ServerEvent, Deadline>(() => {}),
    /** Warns players of the announced stop, and that it is cancelled. */
    warn: fromCallback<ServerEvent, { id: string; at: number }>(() => {}),
    /** Sends ALARM after a delay. */
    pause: fromCallback<ServerEvent, { ms: number }>(() => {}),
  },
  guards: {
    mayRetry: ({ context }, params: { at: number }) =>
      recentRetries(context, params.at).length < RETRIES_AN_HOUR && !loops(context, params.at),
    noRoom: (_, params: { error: unknown }) => isNoRoom(params.error),
    queued: ({ context }) => context.queued !== null,
    killing: ({ context }) => context.kill,
    lost: (_, params: { how: Ending }) => params.how === 'lost',
    overdue: ({ context }, params: { at: number }) => params.at >= (context.deadlineAt ?? 0),
    moved: ({ context }, params: { address: Address }) => !sameAddress(params.address, context.address),
    stoppedInside: (_, params: { how: Ending }) => params.how === 'stopped',
    occupied: ({ context }) => context.job !== null,
    free: ({ context }) => context.job === null,
    replacesAll: (_, params: { job: Job }) => params.job.kind === 'backup.restore',
    stillNotInstalled: ({ context }, params: { failure: Failure | null }) =>
      params.failure !== null && context.installFailure !== null,
    crashedAtOnce: ({ context }, params: { at: number; how: Ending }) =>
      params.how === 'crashed' && params.at - (context.readyAt ?? params.at) < CRASH_GRACE_MS,
    crashedTooOften: ({ context }, params: { at: number; how: Ending }) =>
      params.how !== 'lost' && !mayCrash(context, params.at),
    nobodyCame: ({ context }, params: { at: number }) => unclaimed(context) && params.at >= context.keepAwakeUntil,
    unclaimed: ({ context }) => unclaimed(context),
    /** Players may be online, and the stop begins later. */
    warned: ({ context }, params: { at: number; dueAt?: number }) =>
      (params.dueAt ?? 0) > params.at && context.live.players !== 0,
    deserted: (_, { players, joined }: Reading) =>
      players === 0 && (joined?.inside ?? 0) + (joined?.knocking ?? 0) === 0,
    hung: ({ context }, params: Reading) => hangs(context, params),
    hungAgain: ({ context }, params: Reading) => hangs(context, params) && hungBefore(context, params.at),
    hungUnclaimed: ({ context }, params: Reading) =>
      hangs(context, params) && unclaimed(context) && params.at >= context.keepAwakeUntil,
    idle: ({ context }, params: Reading) => params.idleAfterMs > 0 && restedFor(context, params) >= params.idleAfterMs,
    falseWake: ({ context }, params: Reading) => unclaimed(context) && restedFor(context, params) >= FALSE_WAKE_MS,
  },
  actions: {
    /** Marks an accepted no-op: without an action, `can` would return false. */
    stay: () => {},
    /** A person with permission wants the server up, so a wake by a player no longer counts as false. */
    claim: assign({ played: true }),
    wake: assign(({ context }, params: { at: number; cause: Cause }) => awakening(context, params.at, params.cause)),
    /** Keeps the original request and its cause. */
    wakeAnew: assign(({ context }, params: { at: number }) => awakeningAnew(context, params.at)),
    wakeQueued: assign(({ context }, params: { at: number }) =>
      awakening(context, params.at, context.queued ?? context.cause),
    ),
    noteRetry: assign(({ context }, params: { at: number }) => ({
      retries: [...recentRetries(context, params.at), params.at],
    })),
    noteCrash: assign(({ context }, params: { at: number; how: Ending }) =>
      params.how === 'lost' ? {} : { crashes: withCrash(context, params.at) },
    ),
    noteHang: assign(({ context }, params: Reading) => ({
      cause: HUNG,
      hangs: withHang(context, params.at),
      live: { ...context.live, silentSince: silentSince(context.live, params) },
    })),
    noteActive: assign(({ context }, params: { at: number }) => ({
      live: { ...context.live, lastActiveAt: params.at },
    })),
    noteProgress: assign(
      ({ context }, params: { phase: StartupPhase; percent: number; item?: string | undefined }) => ({
        live: {
          ...context.live,
          phase: params.phase,
          percent: params.percent,
          ...(params.item !== undefined && { item: params.item }),
        },
      }),
    ),
    noteSample: assign(({ context }, params: Reading) => sampled(context, params)),
    noteReady: assign(({ context }, params: Booted) => ({
      address: params.address,
      rcon: params.rcon,
      logAfter: params.logAfter,
      readyAt: params.at,
      bakedAt: context.bakedAt ?? params.at,
      deadlineAt: null,
      noRoom: null,
      retries: [],
      live: { ...context.live, phase: 'ready' as const, percent: 100, lastActiveAt: params.at },
    })),
    noteAddress: assign((_, params: { address: Address; rcon: Address | null }) => ({
      address: params.address,
      rcon: params.rcon,
    })),
    keepAwake: assign((_, params: { until: number }) => ({ keepAwakeUntil: params.until })),
    queue: assign((_, params: { cause: Cause }) => ({ queued: params.cause })),
    unqueue: assign({ queued: null }),
    occupy: assign((_, params: { job: Job }) => ({ job: params.job, maintained: null })),
    beginMaintenance: assign((_, params: { cause: Cause; job: Job }) => ({
      cause: params.cause,
      job: params.job,
      maintained: null,
      noRoom: null,
      queued: null,
      deadlineAt: null,
    })),
    noteMaintained: assign(({ context }, params: { failure: Failure | null }) => ({
      job: null,
      maintained: { jobId: context.job?.id ?? '', failure: params.failure },
      // After a successful job, the earlier failures no longer apply: they concerned other files.
      startFailure: params.failure && context.startFailure,
      installFailure: params.failure && context.installFailure,
    })),
    leave: assign(({ context }, params: { at: number; cause: Cause }) => leaving(context, params.at, params.cause)),
    leaveAsAnnounced: assign(({ context }, params: { at: number }) => leavingAsAnnounced(context, params.at)),
    announce: assign((_, params: { type: 'STOP' | 'RESTART'; dueAt?: number; at: number; cause: Cause }) => ({
      announced: { type: params.type, at: params.dueAt ?? params.at, cause: params.cause },
    })),
    withdraw: assign({ announced: null }),
    hurry: assign(({ context }, params: { at: number }) => ({
      kill: true,
      deadlineAt: params.at + context.limits.stopMs,
    })),
    failStart: assign(({ context }, params: { failure: Failure }) => ({
      startFailure: failureOf(params.failure),
      deadlineAt: null,
      announced: null,
      noRoom: null,
      address: null,
      rcon: null,
      readyAt: null,
      queued: null,
      live: { ...context.live, players: null, percent: 0 },
    })),
    /** The game does not run, and the server is queued for room. */
    standInLine: assign(({ context }, params: { error: unknown }) =>
      isNoRoom(params.error) ? withoutRoom(context, params.error) : {},
    ),
    leaveLine: assign(({ context }) => ({
      startFailure: context.startFailure && outOfLine(context.startFailure),
      deadlineAt: null,
      noRoom: null,
    })),
    /** Ends the wait for room: it took too long, or another rule now refuses the start. */
    giveUpRoom: assign(({ context }, params: { at: number; failure?: Failure }) => ({
      startFailure: params.failure ?? noRoomFor(params.at - (context.noRoom?.foundAt ?? params.at)),
      deadlineAt: null,
      noRoom: null,
    })),
    /** An unwanted game is running and holds its RAM. */
    takePlace: assign((_, params: { at: number }) => ({ wokenAt: params.at, deadlineAt: null, noRoom: null })),
    /** The game no longer runs. */
    leavePlace: assign({ wokenAt: null }),
    beginInstall: assign(({ context }, params: { at: number; cause: Cause }) =>
      installing(context, params.at, params.cause),
    ),
    installQueued: assign(({ context }, params: { at: number }) =>
      installing(context, params.at, context.queued ?? context.cause),
    ),
    failInstall: assign((_, params: { failure: Failure }) => ({ installFailure: params.failure, deadlineAt: null })),
    rest: assign(({ context }) => ({
      wokenAt: null,
      readyAt: null,
      address: null,
      rcon: null,
      deadlineAt: null,
      live: { ...context.live, phase: 'starting' as const, percent: 0, players: null },
    })),
    beginErase: assign((_, params: { at: number; cause: Cause }) => ({
      cause: params.cause,
      deadlineAt: null,
      address: null,
      readyAt: null,
      announced: null,
      queued: null,
      job: null,
      noRoom: null,
    })),
  },
}).createMachine({
  id: 'server',
  initial: 'hibernated',
  context: ({ input }) => initialContext(input),
  on: {
    DELETE: { target: '.deleting', actions: given('beginErase') },
  },
  states: {
    hibernated: {
      tags: ['hibernated', 'at-rest'],
      on: {
        START: { target: 'starting', actions: given('wake') },
        JOIN: { target: 'starting', actions: given('wake') },
        STOP: { actions: 'stay' },
        KILL: { actions: 'stay' },
        REINSTALL: { target: 'installing', actions: given('beginInstall') },
        MAINTAIN: { target: 'maintaining', actions: given('beginMaintenance') },
        UP: { target: 'stopping', actions: leaveFor(UNEXPECTED) },
      },
    },
    installing: {
      tags: ['installing', 'preparing', 'passing', 'holds-place'],
      invoke: [
        {
          id: 'install',
          src: 'install',
          input: ({ context }) => ({ id: context.id }),
          onDone: { target: 'hibernated', actions: 'rest' },
          onError: {
            target: 'installFailed',
            actions: { type: 'failInstall', params: ({ event }) => ({ failure: failureOf(event.error) }) },
          },
        },
        {
          id: 'alarm',
          src: 'alarm',
          input: ({ context }) => ({ at: context.deadlineAt ?? 0, of: { id: context.id, phase: 'install' } }),
        },
      ],
      on: {
        PROGRESS: { actions: given('noteProgress') },
        ALARM: {
          target: 'installFailed',
          actions: {
            type: 'failInstall',
            params: ({ event }) => ({ failure: shownBy(INSTALL_TIMEOUT, event.failure) }),
          },
        },
        STOP: { target: 'installFailed', actions: { type: 'failInstall', params: { failure: CANCELLED } } },
        KILL: { target: 'installFailed', actions: { type: 'failInstall', params: { failure: CANCELLED } } },
      },
    },
    installFailed: {
      initial: 'clearing',
      on: {
        STOP: { actions: 'unqueue' },
        KILL: { actions: 'unqueue' },
      },
      states: {
        /**
         * Ends everything that the installer left running before other work may begin. An operator's ALARM repeats
         * this.
         */
        clearing: {
          tags: ['install_failed', 'at-rest'],
          invoke: {
            id: 'halt',
            src: 'halt',
            input: ({ context }) => ({ id: context.id, kill: true }),
            onDone: [
              { guard: 'queued', target: '#server.installing', actions: output('installQueued') },
              { target: 'cleared', actions: 'leavePlace' },
            ],
            onError: 'waiting',
          },
          on: {
            RETRY_INSTALL: { actions: given('queue') },
            ALARM: { target: 'clearing', reenter: true },
          },
        },
        waiting: {
          tags: ['install_failed', 'at-rest'],
          invoke: { id: 'pause', src: 'pause', input: { ms: RETRY_MS } },
          on: { ALARM: 'clearing', RETRY_INSTALL: { actions: given('queue') } },
        },
        cleared: {
          tags: ['install_failed', 'at-rest'],
          on: {
            RETRY_INSTALL: { target: '#server.installing', actions: given('beginInstall') },
            REINSTALL: { target: '#server.installing', actions: given('beginInstall') },
            /** A backup contains everything an install would provide. */
            MAINTAIN: {
              guard: given('replacesAll'),
              target: '#server.maintaining',
              actions: given('beginMaintenance'),
            },
            UP: { target: 'clearing', actions: given('takePlace') },
          },
        },
      },
    },
    starting: {
      tags: ['starting', 'awake', 'preparing', 'passing', 'holds-place'],
      invoke: [
        {
          id: 'boot',
          src: 'boot',
          input: ({ context }) => ({ id: context.id }),
          onDone: { target: 'running', actions: output('noteReady') },
          onError: [
            { guard: given('noRoom'), target: 'startFailed.inLine', actions: given('standInLine') },
            {
              target: 'startFailed',
              actions: { type: 'failStart', params: ({ event }) => ({ failure: failureOf(event.error) }) },
            },
          ],
        },
        {
          id: 'alarm',
          src: 'alarm',
          input: ({ context }) => ({ at: context.deadlineAt ?? 0, of: { id: context.id, phase: 'start' } }),
        },
      ],
      on: {
        START: [{ guard: 'unclaimed', actions: 'claim' }, { actions: 'stay' }],
        JOIN: { actions: given('noteActive') },
        STOP: { target: 'stopping', actions: given('leave') },
        RESTART: { target: 'stopping', actions: [given('leave'), given('queue')] },
        KILL: { target: 'stopping', actions: [given('leave'), given('hurry')] },
        MAINTAIN: { target: 'stopping', actions: [given('leave'), given('queue'), given('occupy')] },
        PROGRESS: { actions: given('noteProgress') },
        /** The engine or machine went away during the start. The game did not fail, and the request still applies. */
        DOWN: { guard: given('lost'), target: 'starting', reenter: true, actions: given('wakeAnew') },
        ALARM: {
          target: 'startFailed',
          actions: {
            type: 'failStart',
            params: ({ event }) => ({ failure: shownBy(START_TIMEOUT, event.failure) }),
          },
        },
      },
    },
    running: {
      initial: 'open',
      invoke: { id: 'watch', src: 'watch', input: ({ context }) => ({ id: context.id }) },
      on: {
        START: [{ guard: 'unclaimed', actions: 'claim' }, { actions: 'stay' }],
        JOIN: { actions: given('noteActive') },
        KEEP_AWAKE: { actions: given('keepAwake') },
        SAMPLE: [
          {
            guard: given('hungAgain'),
            target: 'startFailed',
            actions: [given('noteHang'), { type: 'failStart', params: ({ event }) => ({ failure: hung(event) }) }],
          },
          {
            guard: given('hungUnclaimed'),
            target: 'stopping',
            actions: [given('noteHang'), leaveFor(HUNG), given('hurry')],
          },
          {
            guard: given('hung'),
            target: 'stopping',
            actions: [
              given('noteHang'),
              leaveFor(HUNG),
              given('hurry'),
              { type: 'queue', params: { cause: AGAIN_AFTER_HUNG } },
            ],
          },
          { guard: given('falseWake'), target: 'stopping', actions: leaveFor(FALSE_WAKE) },
          { guard: given('idle'), target: 'stopping', actions: leaveFor(IDLE) },
          { actions: given('noteSample') },
        ],
        STOP: [
          { guard: given('warned'), target: '.warned', actions: given('announce') },
          { target: 'stopping', actions: given('leave') },
        ],
        RESTART: [
          { guard: given('warned'), target: '.warned', actions: given('announce') },
          { target: 'stopping', actions: [given('leave'), given('queue')] },
        ],
        KILL: { target: 'stopping', actions: [given('leave'), given('hurry')] },
        MAINTAIN: { target: 'stopping', actions: [given('leave'), given('queue'), given('occupy')] },
        UP: { guard: given('moved'), actions: given('noteAddress') },
        DOWN: [
          { guard: given('stoppedInside'), target: 'stopping', actions: leaveFor(INSIDE) },
          { guard: given('crashedAtOnce'), target: 'startFailed', actions: [given('noteCrash'), given('failStart')] },
          {
            guard: given('crashedTooOften'),
            target: 'startFailed',
            actions: [
              given('noteCrash'),
              { type: 'failStart', params: ({ event }) => ({ failure: crashLoop(event.failure) }) },
            ],
          },
          {
            guard: given('nobodyCame'),
            target: 'stopping',
            actions: [
              given('noteCrash'),
              { type: 'leave', params: ({ event }) => ({ at: event.at, cause: notAgainAfter(event.how) }) },
            ],
          },
          {
            target: 'starting',
            actions: [
              given('noteCrash'),
              { type: 'wake', params: ({ event }) => ({ at: event.at, cause: againAfter(event.how) }) },
            ],
          },
        ],
      },
      states: {
        open: { tags: ['running', 'awake', 'billed', 'holds-place'] },
        /** Players have been warned of a stop or restart. A START cancels it; another STOP or RESTART replaces it. */
        warned: {
          tags: ['running', 'awake', 'billed', 'holds-place'],
          invoke: [
            { id: 'alarm', src: 'alarm', input: ({ context }) => ({ at: context.announced?.at ?? 0 }) },
            { id: 'warn', src: 'warn', input: ({ context }) => ({ id: context.id, at: context.announced?.at ?? 0 }) },
          ],
          on: {
            START: { target: 'open', actions: ['claim', 'withdraw'] },
            ALARM: { target: '#server.stopping', actions: given('leaveAsAnnounced') },
            SAMPLE: { guard: given('deserted'), target: '#server.stopping', actions: given('leaveAsAnnounced') },
          },
        },
      },
    },
    stopping: {
      initial: 'halting',
      on: {
        STOP: { actions: 'unqueue' },
        START: { actions: given('queue') },
        JOIN: { actions: given('queue') },
        RESTART: { actions: given('queue') },
        MAINTAIN: { guard: 'free', actions: given('occupy') },
      },
      states: {
        halting: {
          tags: ['stopping', 'passing', 'holds-place'],
          invoke: [
            {
              id: 'halt',
              src: 'halt',
              input: ({ context }) => ({ id: context.id, kill: context.kill }),
              onDone: [
                { guard: 'occupied', target: '#server.maintaining', actions: 'rest' },
                { guard: 'queued', target: '#server.starting', actions: output('wakeQueued') },
                { target: '#server.hibernated', actions: 'rest' },
              ],
              onError: 'waiting',
            },
            { id: 'alarm', src: 'alarm', input: ({ context }) => ({ at: context.deadlineAt ?? 0 }) },
          ],
          on: {
            KILL: [
              { guard: 'killing', actions: 'stay' },
              { target: 'halting', reenter: true, actions: given('hurry') },
            ],
            ALARM: { target: 'halting', reenter: true, actions: given('hurry') },
          },
        },
        /**
         * The engine could not stop the game, for example because it is unreachable. Retries and never returns to
         * `running`.
         */
        waiting: {
          tags: ['stopping', 'passing', 'holds-place'],
          invoke: { id: 'pause', src: 'pause', input: { ms: RETRY_MS } },
          on: {
            ALARM: [
              { guard: given('overdue'), target: 'halting', actions: given('hurry') },
              // The deadline has not passed, so the game may still save.
              { target: 'halting' },
            ],
            KILL: { target: 'halting', actions: given('hurry') },
          },
        },
      },
    },
    /** Clients see the server as asleep. Start requests wait until the job has ended. */
    maintaining: {
      initial: 'working',
      on: {
        START: { actions: given('queue') },
        JOIN: { actions: given('queue') },
        STOP: { actions: 'unqueue' },
        KILL: { actions: 'unqueue' },
      },
      states: {
        working: {
          tags: ['hibernated', 'at-rest'],
          invoke: {
            id: 'maintain',
            src: 'maintain',
            input: ({ context }) => ({ id: context.id, jobId: context.job?.id ?? '' }),
            onDone: [
              {
                guard: output('stillNotInstalled'),
                target: '#server.installFailed.cleared',
                actions: [output('noteMaintained'), 'unqueue'],
              },
              {
                guard: 'queued',
                target: '#server.starting',
                actions: [output('noteMaintained'), output('wakeQueued')],
              },
              { target: '#server.hibernated', actions: [output('noteMaintained'), 'rest'] },
            ],
            onError: 'waiting',
          },
        },
        /**
         * The job could be neither done nor undone, for example because of a full disk. Retries until one of these
         * succeeds.
         */
        waiting: {
          tags: ['hibernated', 'at-rest'],
          invoke: { id: 'pause', src: 'pause', input: { ms: RETRY_MS } },
          on: { ALARM: 'working' },
        },
      },
    },
    startFailed: {
      initial: 'clearing',
      on: {
        STOP: { actions: 'unqueue' },
        KILL: { actions: 'unqueue' },
        MAINTAIN: { target: 'stopping', actions: [given('leave'), given('hurry'), given('occupy')] },
      },
      states: {
        /** Ends a hanging or half-started game. Start requests wait until it has ended. */
        clearing: {
          tags: ['start_failed', 'at-rest'],
          invoke: {
            id: 'halt',
            src: 'halt',
            input: ({ context }) => ({ id: context.id, kill: true }),
            onDone: [
              { guard: 'queued', target: '#server.starting', actions: output('wakeQueued') },
              { target: 'cleared', actions: 'leavePlace' },
            ],
            onError: 'waiting',
          },
          on: {
            START: { actions: given('queue') },
            ALARM: { target: 'clearing', reenter: true },
          },
        },
        waiting: {
          tags: ['start_failed', 'at-rest'],
          invoke: { id: 'pause', src: 'pause', input: { ms: RETRY_MS } },
          on: { ALARM: 'clearing', START: { actions: given('queue') } },
        },
        cleared: {
          tags: ['start_failed', 'at-rest'],
          on: {
            MAINTAIN: { target: '#server.maintaining', actions: given('beginMaintenance') },
            START: { target: '#server.starting', actions: given('wake') },
            JOIN: {
              guard: given('mayRetry'),
              target: '#server.starting',
              actions: [given('noteRetry'), given('wake')],
            },
            REINSTALL: { target: '#server.installing', actions: given('beginInstall') },
            UP: { target: 'clearing', actions: given('takePlace') },
          },
        },
        /**
         * No machine has room. The server waits in the queue, together with players, and is started at its turn; no
         * cleanup is needed. ALARM: the wait is over, or another rule now refuses the start.
         */
        inLine: {
          tags: ['start_failed', 'at-rest'],
          invoke: { id: 'room', src: 'alarm', input: ({ context }) => ({ at: context.deadlineAt ?? 0 }) },
          on: {
            STOP: { target: 'cleared', actions: 'leaveLine' },
            KILL: { target: 'cleared', actions: 'leaveLine' },
            ALARM: { target: 'cleared', actions: given('giveUpRoom') },
            START: { target: '#server.starting', actions: given('wake') },
            JOIN: { target: '#server.starting', actions: given('wake') },
            MAINTAIN: { target: '#server.maintaining', actions: given('beginMaintenance') },
            REINSTALL: { target: '#server.installing', actions: given('beginInstall') },
            UP: { target: 'clearing', actions: given('takePlace') },
          },
        },
      },
    },
    deleting: {
      initial: 'erasing',
      on: { DELETE: { actions: 'stay' } },
      states: {
        erasing: {
          tags: ['deleting', 'passing'],
          invoke: {
            id: 'erase',
            src: 'erase',
            input: ({ context }) => ({ id: context.id }),
            onDone: '#server.erased',
            onError: 'waiting',
          },
          on: { ALARM: { target: 'erasing', reenter: true } },
        },
        waiting: {
          tags: ['deleting', 'passing'],
          invoke: { id: 'pause', src: 'pause', input: { ms: RETRY_MS } },
          on: { ALARM: 'erasing' },
        },
      },
    },
    erased: { type: 'final', tags: ['deleting', 'passing'] },
  },
});

export type ServerSnapshot = SnapshotFrom<typeof serverMachine>;

/** Returns the wire state of a snapshot: the only one of its tags that is a wire state. */
export function serverState(snapshot: ServerSnapshot): ServerState {
  for (const state of SERVER_STATES) if (snapshot.hasTag(state)) return state;
  throw new Error(`state without a tag: ${JSON.stringify(snapshot.value)}`);
}

const tagsOf = tagsByState(serverMachine, SERVER_STATES);

/** Whether a wire state, as stored in rows, has a tag. */
export function isTagged(state: string, tag: ServerTag): boolean {
  return tagsOf.get(state)?.has(tag) ?? false;
}

function unprovided(name: string): () => Promise<never> {
  return async () => {
    throw new Error(`effect ${name} is not provided`);
  };
}
