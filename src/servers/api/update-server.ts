import * as z from 'zod';
import { JVM_PRESETS, MOST_JVM_CHARS, checkJvmOptions } from '../../engines/jvm-options.ts';
import { invalidFields } from '../../http/errors.ts';
import { int32, message, text } from '../../http/fields.ts';
import { operation } from '../../http/operation.ts';
import type { Served } from '../../http/serve.ts';
import type { Tx } from '../../store/store.ts';
import { type ServerRow, ramOfAccount } from '../rows.ts';
import { LEAST_RAM_MB, PlanName, type RamLimits, checkPlan, checkRam, requireRam } from './fields.ts';
import { Server, ServerName, ServerParams, Tags } from './messages.ts';
import type { ServerNeeds } from './operation.ts';
import { recordOnServer, requireRole } from './reach.ts';
import { StopFirst, stoppedFor } from './stop-first.ts';

/** Checked in full by `checkJvmOptions`; the pattern admits no character special to a shell. */
const JvmOptions = text(MOST_JVM_CHARS)
  .trim()
  .superRefine((options, ctx) => {
    const wrong = checkJvmOptions(options);
    if (wrong !== undefined) ctx.addIssue({ code: 'custom', message: wrong });
  })
  .meta({ pattern: '^[A-Za-z0-9 .,:+=_/@-]*$' });

export const UpdateServer = operation({
  id: 'UpdateServer',
  method: 'post',
  path: '/v1/servers/{id}:update',
  scope: 'servers:write',
  role: 'member',
  auth: 'key',
  section: 'Servers',
  summary: 'Change name, tags, RAM, plan, waiting room, client versions, builds or options for Java',
  description:
    'Absent fields stay unchanged. RAM and plan change only while the server is stopped, or with `stopFirst`, and ' +
    'only the owner can change the plan. With `waitingRoom` (experimental), players on Minecraft 1.21.6 or newer who wake the server ' +
    'see its progress in a window, with the other waiting players and a button to leave. They join automatically ' +
    'when it is ready. If the machine has no capacity, they wait in a queue for up to ten minutes and see their ' +
    'place. Older clients, and Forge and NeoForge clients, wait on the loading screen and are refused if there is ' +
    'no capacity. `clientVersions` sets which clients can play. `own`: only clients of the server’s version. ' +
    '`any`: all clients, for example with a plugin that translates versions (ViaVersion). `auto` (default): `own` ' +
    'for `sandbox`, `vanilla`, and sleeping servers without such a plugin or mod (by the file names in `plugins` ' +
    'and `mods`), otherwise `any`. Players who can’t play don’t wake the server. They see which version to use. ' +
    '`jvmPreset` and `jvmOptions` set how Java runs from the next start on: `default`, `aikar` (Aikar’s flags) or ' +
    '`zgc` (Z garbage collector, from Java 15), and further options separated by spaces, such as ' +
    '`-XX:MaxGCPauseMillis=100 -Dpaper.maxChatLength=512`. Refused are options that load code, open debug ports, ' +
    'name files, change memory limits, or determine what Java does after an error. With `builds` = ' +
    '`latest-when-asleep`, a sleeping server changes to the newest build of its version, never while it is awake. ' +
    'If a start with it fails, the server returns to the build before it and starts again. `pinned` (default): the ' +
    'build changes only on request (UpdateServerVersion).',
  precondition: 'for RAM and plan, the server must be stopped, or `stopFirst` set.',
  params: ServerParams,
  body: message({
    name: ServerName.optional(),
    ramMb: int32({ min: 1 }).meta({ minimum: LEAST_RAM_MB.sandbox }).optional(),
    plan: PlanName.optional().describe('`metered` or `flat`.'),
    waitingRoom: z.boolean('must be true or false').optional().describe('Experimental.'),
    clientVersions: z.enum(['auto', 'own', 'any'], 'must be auto, own or any').optional(),
    jvmPreset: z.enum(JVM_PRESETS, 'must be default, aikar or zgc').optional(),
    jvmOptions: JvmOptions.optional().describe('Empty: none.'),
    tags: Tags.optional().describe('At most 10. They replace the present ones.'),
    stopFirst: StopFirst,
    builds: z.enum(['pinned', 'latest-when-asleep'], 'must be pinned or latest-when-asleep').optional(),
  }).meta({ id: 'UpdateServerRequest' }),
  reply: Server,
});

export const updateOperations = (needs: ServerNeeds & RamLimits): readonly Served[] => [
  needs.serveServer(UpdateServer, async (call) => {
    const { server: now, role, principal } = call;
    const { stopFirst: _, ...body } = call.body;
    const { ramMb = now.row.ramMb, plan = now.row.plan } = body;
    // Limits may have been lowered since; that must not block other changes.
    const ramViolations = ramMb === now.row.ramMb ? [] : checkRam({ ...now.row, ramMb }, needs);
    const violations = [...ramViolations, ...checkPlan(plan)];
    if (violations.length > 0) throw invalidFields(violations);
    // Only the owner may change price and billing period.
    if (plan !== now.row.plan) requireRole(role, 'owner');
    const entry = { action: 'server.update', detail: Object.keys(body).join(', '), at: needs.clock.now() };
    const { id, accountId } = now.row;
    const record = recordOnServer(principal, now.row, entry);
    const change = async (tx: Tx) => {
      // Reducing RAM is always allowed, even if the account's servers still exceed a lowered limit.
      if (ramMb > now.row.ramMb) requireRam({ accountId, ramMb, usedMb: await ramOfAccount(tx, accountId, id) }, needs);
      await record(tx);
    };
    const { ramMb: __, plan: ___, ...anytime } = body;
    const sameRun = ramMb === now.row.ramMb && plan === now.row.plan;
    // Write only the requested fields, because another caller may be changing the rest.
    const settings = (row: ServerRow) => ({
      ...(sameRun ? anytime : body),
      // An adopted build that has not started yet is given up.
      ...(body.builds === 'pinned' &&
        row.state === 'hibernated' &&
        row.pendingUpdate?.automatic === true && { pendingUpdate: null }),
    });
    const updated = sameRun
      ? needs.servers.patch(id, settings, record)
      : stoppedFor(needs, call, () => needs.servers.patchAtRest(id, settings, change));
    return needs.serverView(await updated);
  }),
];
