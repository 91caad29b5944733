import { createActor } from 'xstate';
import { EXPIRES_IN_MS, deviceGrantMachine, grantAnswer, grantState } from '../../../machines/device-grant.ts';
import { type StepFeed, pathOf } from '../../actors/machine-step.ts';
import { FULL_SCOPES } from '../../http/scopes.ts';
import type { Clock } from '../../kernel/clock.ts';
import { hashToken, mintToken, randomBase62 } from '../../kernel/ids.ts';
import { HOUR_MS } from '../../kernel/units.ts';
import { isDuplicate } from '../../store/errors.ts';
import type { Secret } from '../../store/secret.ts';
import type { Store } from '../../store/store.ts';
import { findClient, scopeOf } from '../apps/clients.ts';
import { DEVICE, withChange } from './history.ts';
import { type GrantRow, insertGrant, purgeGrants } from './rows.ts';
import { hashUserCode, mintUserCode } from './user-codes.ts';

/** The requester of a grant. */
export interface GrantRequest {
  /** The `client_id`; null for the command-line client, whose grant yields an API key of full scope. */
  clientId: string | null;
  /** Scopes separated by blanks; '' for the default. */
  scope: string;
  /** Shown to the user who approves. */
  ip: string;
  userAgent: string;
}

/** The two codes of a new grant, which cannot be read again. */
export interface StartedGrant {
  deviceCode: string;
  /** For example `WDJB-MJHT`. */
  userCode: string;
  expiresInMs: number;
  intervalMs: number;
}

/** RFC 6749 §5.2. */
export type StartError = 'invalid_client' | 'invalid_scope';

interface Parts {
  store: Store;
  clock: Clock;
  secret: Secret;
  feed: StepFeed;
}

type Codes = Pick<StartedGrant, 'deviceCode' | 'userCode'>;

const ATTEMPTS = 5;
/** Rows are stored this long after their end, so that no code is reused while the old one may still be displayed. */
const KEPT_MS = HOUR_MS;
const PURGED_AT_ONCE = 50;
const USER_AGENT_CHARS = 256;

/** Stores a new grant and reports it on `feed`. */
export async function startGrant(
  { store, clock, secret, feed }: Parts,
  { clientId, scope: requested, ip, userAgent }: GrantRequest,
): Promise<StartedGrant | { error: StartError }> {
  const client = clientId === null ? null : await findClient(store, clientId);
  if (client === undefined) return { error: 'invalid_client' };
  const scope = client === null ? FULL_SCOPES.join(' ') : scopeOf(client, requested);
  if (scope === undefined) return { error: 'invalid_scope' };
  const createdAt = clock.now();
  const id = `grt_${randomBase62(16)}`;
  const actor = createActor(deviceGrantMachine, { input: { id, clientId, scope, at: createdAt } });
  const snapshot = actor.getSnapshot();
  const { expiresAt, intervalMs } = snapshot.context;
  const state = grantAnswer(snapshot);
  const cause = { ...DEVICE, note: `asked for by ${client?.name ?? 'the command line'}` };
  const change = { at: createdAt, event: 'CREATE', from: '', to: grantState(state), cause };
  const codes = await insert(store, secret, {
    id,
    clientId,
    userId: null,
    ip,
    userAgent: printable(userAgent),
    state,
    changedAt: createdAt,
    history: withChange('[]', change),
    createdAt,
    expiresAt,
    snapshot: JSON.stringify(actor.getPersistedSnapshot()),
  });
  feed.publish(() => ({ ...change, id, kind: 'grant', fromPath: '', toPath: pathOf(snapshot.value) }));
  return { ...codes, expiresInMs: EXPIRES_IN_MS, intervalMs };
}

/** Stores a new grant under new codes. Also deletes old grants. */
async function insert(store: Store, secret: Secret, row: Omit<GrantRow, 'deviceHash' | 'userHmac'>): Promise<Codes> {
  for (let attempt = 1; ; attempt++) {
    const codes = { deviceCode: mintToken('device'), userCode: mintUserCode() };
    const deviceHash = hashToken(codes.deviceCode);
    const userHmac = hashUserCode(secret, codes.userCode);
    try {
      await store.write(async (tx) => {
        await purgeGrants(tx, row.createdAt - KEPT_MS, PURGED_AT_ONCE);
        await insertGrant(tx, { ...row, deviceHash, userHmac });
      });
      return codes;
    } catch (error) {
      // There are 25.6 billion user codes; this one is in use.
      if (!isDuplicate(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Returns the device's own name in printable form: it comes from outside and is shown to people. */
function printable(userAgent: string): string {
  const text = userAgent.toWellFormed().replaceAll(/[\p{Cc}\p{Cf}]/gu, ' ');
  return text.trim().slice(0, USER_AGENT_CHARS).toWellFormed();
}
