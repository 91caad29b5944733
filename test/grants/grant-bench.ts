import { createHmac } from 'node:crypto';
import type { ExecutionContext } from 'ava';
import type { KeyPrincipal } from '../../src/http/principal.ts';
import { KEY_SCOPES } from '../../src/http/scopes.ts';
import { createLog } from '../../src/kernel/log.ts';
import { StatusError } from '../../src/kernel/status.ts';
import { registerClient } from '../../src/grants/clients.ts';
import type { AppTokenRow } from '../../src/grants/app-rows.ts';
import type { GrantedToken } from '../../src/grants/tokens.ts';
import { Grants, type PollError, type StartedGrant } from '../../src/grants/grants.ts';
import type { Secret } from '../../src/store/secret.ts';
import type { Store } from '../../src/store/store.ts';
import { type FakeClock, fakeClock } from '../fakes/clock.ts';
import { freshStore } from '../support/store.ts';

export const SECOND = 1_000;
export const USER = { userId: 'usr_test', accountId: 'acc_test' };
export const OPERATOR: KeyPrincipal = {
  kind: 'key',
  keyId: 'key_operator',
  ...USER,
  scopes: new Set(KEY_SCOPES),
  operator: true,
  serverIds: null,
};
const secret: Secret = {
  derive: (purpose, id) => createHmac('sha256', 'secret').update(`${purpose}\0${id}`).digest('base64url'),
};
export const log = createLog({ level: 'silent' });

interface Bench {
  store: Store;
  clock: FakeClock;
  grants: Grants;
  /** The registered app. */
  clientId: string;
  /** Starts a grant of the app, or of the command line if `clientId` is null. */
  start(clientId?: string | null): Promise<StartedGrant & { id: string }>;
  /** Opens the grants again, as after a kill of the process. */
  restart(): Grants;
  tokens(): Promise<AppTokenRow[]>;
}

export async function bench(
  t: ExecutionContext,
  wrap: (store: Store) => Store = (store) => store,
  url?: string,
): Promise<Bench> {
  const real = await freshStore(t, url);
  const store = wrap(real);
  const clock = fakeClock();
  const make = () => new Grants({ store, clock, secret, log });
  const wanted = { name: 'Launcher', homepage: 'https://launcher.example', scopes: ['servers:list'] as const };
  const it: Bench = {
    store: real,
    clock,
    grants: make(),
    clientId: (await registerClient({ store: real, clock }, OPERATOR, wanted)).id,
    async start(clientId = it.clientId) {
      const started = await it.grants.start({ clientId, scope: '', ip: '192.0.2.1', userAgent: 'curl/8' });
      if ('error' in started) throw new Error(started.error);
      const found = await it.grants.find(started.userCode);
      return { ...started, id: found!.id };
    },
    restart: () => (it.grants = make()),
    tokens: () => real.query<AppTokenRow>('SELECT * FROM "app_tokens"'),
  };
  return it;
}

/** Returns the answer if it is a token; throws if it is an error. */
export function granted(polled: GrantedToken | { error: PollError }): GrantedToken {
  if ('error' in polled) throw new Error(polled.error);
  return polled;
}

export const answerOf = (polled: GrantedToken | { error: PollError }) =>
  'error' in polled ? polled.error : polled.kind;

export async function refused(t: ExecutionContext, attempt: Promise<unknown>, reason: string): Promise<void> {
  const error = await t.throwsAsync(attempt, { instanceOf: StatusError });
  t.is(error.reason, reason, error.message);
}
