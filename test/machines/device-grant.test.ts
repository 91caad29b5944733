import test from 'ava';
import { getInitialSnapshot, getNextSnapshot } from 'xstate';
import {
  deviceGrantMachine,
  EXPIRES_IN_MS,
  GRANT_ANSWERS,
  grantAnswer,
  type GrantAnswer,
  type GrantEvent,
  type GrantSnapshot,
  grantState,
  mayAskAgain,
} from '../../machines/device-grant.ts';
import { shortestWays } from './ways.ts';

const input = { id: 'grant', clientId: 'app', scope: 'servers:list', at: 0 };
const poll = (seconds: number, admitted = true): GrantEvent & { type: 'POLL' } => ({
  type: 'POLL',
  at: seconds * 1_000,
  admitted,
});
/** A poll of a grant after the response with its token was lost. */
const pollAgain = (seconds: number, admitted = true): GrantEvent & { type: 'POLL' } => ({
  type: 'POLL',
  at: seconds * 1_000,
  admitted,
  lost: true,
});
const approve = (seconds: number, admitted = true): GrantEvent => ({
  type: 'APPROVE',
  at: seconds * 1_000,
  admitted,
  userId: 'usr_1',
});
const deny = (seconds: number): GrantEvent => ({ type: 'DENY', at: seconds * 1_000 });
const expire = (seconds: number): GrantEvent => ({ type: 'EXPIRE', at: seconds * 1_000 });
const next = (snapshot: GrantSnapshot, event: GrantEvent) => getNextSnapshot(deviceGrantMachine, snapshot, event);
const run = (...events: GrantEvent[]): GrantSnapshot =>
  events.reduce(next, getInitialSnapshot(deviceGrantMachine, input));

/** Returns the answers to the polls among the events, in order. */
function answers(...events: GrantEvent[]): GrantAnswer[] {
  let snapshot = getInitialSnapshot(deviceGrantMachine, input);
  return events.flatMap((event) => {
    const before = snapshot;
    snapshot = next(snapshot, event);
    return event.type === 'POLL' ? [answerTo(event, before, snapshot)] : [];
  });
}

/** Returns the answer to a poll. A redeemed grant answers `expired_token` unless its token may be requested again. */
function answerTo(event: GrantEvent & { type: 'POLL' }, before: GrantSnapshot, after: GrantSnapshot): GrantAnswer {
  const isSpent = before.matches('redeemed') && !mayAskAgain(after.context, event);
  return isSpent ? 'expired_token' : grantAnswer(after);
}

test('the first poll of a device grant never gets slow_down; later polls do if they come too early', (t) => {
  t.deepEqual(answers(poll(0)), ['authorization_pending']);
  t.deepEqual(answers(poll(0), poll(5), poll(10)), Array(3).fill('authorization_pending'));
  t.deepEqual(answers(poll(0), poll(4.5)), ['authorization_pending', 'authorization_pending']);
  t.deepEqual(answers(poll(0), poll(4.4)), ['authorization_pending', 'slow_down']);
});

test('each slow_down permanently adds five seconds to the polling interval', (t) => {
  t.deepEqual(answers(poll(0), poll(1), poll(6), poll(21), poll(36)), [
    'authorization_pending',
    'slow_down',
    'slow_down',
    'authorization_pending',
    'authorization_pending',
  ]);
  t.is(run(poll(0), poll(1), poll(6)).context.intervalMs, 15_000);
});

test('an approved grant is redeemed once, however fast it is polled', (t) => {
  t.deepEqual(answers(poll(0), approve(1), poll(1.1), poll(1.2), poll(1.3)), [
    'authorization_pending',
    'redeemed',
    'expired_token',
    'expired_token',
  ]);
  t.is(run(approve(1), poll(2)).context.userId, 'usr_1');
  t.is(
    grantState(grantAnswer(run(approve(1), poll(2), poll(2), poll(700)))),
    'redeemed',
    'operators still see it as redeemed',
  );
});

test('a token lost on its way can be requested again for one minute', (t) => {
  t.deepEqual(answers(approve(1), poll(2), pollAgain(2.1), pollAgain(61.9), pollAgain(62), pollAgain(63)), [
    ...Array(3).fill('redeemed'),
    ...Array(2).fill('expired_token'),
  ]);
  t.deepEqual(
    answers(approve(1), poll(599), pollAgain(605)),
    ['redeemed', 'redeemed'],
    'the minute may outlast the grant',
  );
  t.deepEqual(
    answers(approve(1), poll(2), pollAgain(2)),
    ['redeemed', 'expired_token'],
    'at the same time as the first',
  );
  t.deepEqual(answers(approve(1), poll(2), pollAgain(1)), ['redeemed', 'expired_token'], 'the clock was set back');
  t.deepEqual(answers(approve(1), poll(2), pollAgain(3, false)), ['redeemed', 'expired_token'], 'its app is disabled');
  t.deepEqual(answers(approve(1), poll(2), poll(3), pollAgain(4)), ['redeemed', 'expired_token', 'redeemed']);
  t.deepEqual(answers(pollAgain(1), deny(2), pollAgain(3)), ['authorization_pending', 'access_denied']);
});

test('a denied grant answers access_denied until it expires, and cannot be approved', (t) => {
  t.deepEqual(answers(deny(1), poll(2), approve(3), poll(3), poll(601)), [
    'access_denied',
    'access_denied',
    'expired_token',
  ]);
});

test('the device code and the user code expire after 600 seconds', (t) => {
  t.deepEqual(answers(poll(599)), ['authorization_pending']);
  t.deepEqual(answers(poll(600)), ['expired_token']);
  t.deepEqual(answers(approve(599), poll(600)), ['expired_token']);
  t.false(run().can(approve(600)));
  t.false(run(approve(1)).can(approve(2)), 'a second user cannot approve');
  t.false(run(approve(1)).can(deny(2)));
});

test('an unpolled grant expires on its own, but not early, and not once it is redeemed or denied', (t) => {
  t.is(grantAnswer(run(expire(600))), 'expired_token');
  t.is(grantAnswer(run(approve(1), expire(600))), 'expired_token');
  t.false(run().can(expire(599)));
  t.false(run(approve(1), poll(2)).can(expire(600)), 'a lost token may be requested again');
  t.false(run(deny(1)).can(expire(600)));
});

test('a disabled client gets no approval, and no token for an earlier approval', (t) => {
  t.false(run().can(approve(1, false)));
  t.deepEqual(answers(approve(1), poll(2, false), poll(3), poll(600)), [
    'access_denied',
    'access_denied',
    'expired_token',
  ]);
  t.deepEqual(answers(poll(1, false), poll(2)), ['access_denied', 'access_denied']);
  t.true(run().can(deny(1)));
});

const ALL = [0, 1, 6, 20, EXPIRES_IN_MS / 1_000].flatMap((at) => [
  poll(at),
  poll(at, false),
  pollAgain(at),
  approve(at),
  approve(at, false),
  deny(at),
  expire(at),
]);
const ways = shortestWays({
  first: getInitialSnapshot(deviceGrantMachine, input),
  next,
  events: () => ALL,
  keyOf: ({ value, context }) => JSON.stringify([value, context.userId, context.polledAt, context.intervalMs > 15_000]),
});

for (const answer of GRANT_ANSWERS) {
  test(`every path to ${answer} has one answer per step, and redeems at most one token, only after an approval`, (t) => {
    const there = ways.filter(({ state }) => grantAnswer(state) === answer);
    t.true(there.length > 0, 'the answer can be reached');
    for (const { steps } of there) {
      const broken = brokenPromises(steps.map(({ state }) => state));
      if (broken.length > 0) t.fail(`${steps.map(({ event }) => event.type).join(' → ')}: ${broken.join('; ')}`);
    }
  });
}

function brokenPromises(states: readonly GrantSnapshot[]): string[] {
  const isRedeemed = (state?: GrantSnapshot) => state?.matches('redeemed') === true;
  const redeemed = states.filter((state, nth) => isRedeemed(state) && !isRedeemed(states[nth - 1]));
  return [
    ...states.flatMap((state) => {
      const answers = GRANT_ANSWERS.filter((answer) => state.hasTag(answer));
      return answers.length === 1 ? [] : [`exactly one answer, not ${answers.join(',') || 'none'}`];
    }),
    ...(redeemed.some(({ context }) => context.userId === null) ? ['only what a user approved is redeemed'] : []),
    ...(redeemed.length > 1 ? ['and only once'] : []),
  ];
}
