import test from 'ava';
import { againAfter, FALSE_WAKE, IDLE, START_TIMEOUT } from '../../machines/server-reasons.ts';
import type { Cause } from '../../machines/server-types.ts';
import { stepWords } from '../../src/servers/actors.ts';

const STEVE: Cause = { kind: 'player', id: 'Steve', note: 'joined' };
const KEY: Cause = { kind: 'key', id: 'key_1', note: 'asked over the API' };
const OPERATOR: Cause = { kind: 'operator', id: 'usr_1', note: 'we move' };

test('each transition of a server is described in one sentence', (t) => {
  const failure = {
    code: 'out_of_memory',
    summary: 'Out of memory:\nthe game took more than its 512 MB.',
    suggestion: 'Give it more RAM.',
  };
  const said = (from: 'running' | 'starting' | 'installing' | 'hibernated', more: object) =>
    stepWords({ id: 'lobby', from, to: 'starting', event: 'X', cause: STEVE, ...more });
  t.is(said('hibernated', {}), 'lobby wakes up: Steve joined');
  t.is(said('hibernated', { cause: KEY }), 'lobby wakes up: asked over the API');
  t.is(said('running', { cause: againAfter('crashed') }), 'lobby is restarted after a crash');
  t.is(said('starting', { to: 'running', startMs: 3_290 }), 'lobby is ready after 3.3 s');
  t.is(said('running', { to: 'stopping', cause: IDLE }), 'lobby goes to sleep: no players online');
  t.is(said('running', { to: 'stopping', cause: FALSE_WAKE }), 'lobby goes to sleep: woken, but no player joined');
  t.is(said('running', { to: 'stopping', cause: OPERATOR }), 'lobby goes to sleep: by an operator, we move');
  t.is(
    said('running', { to: 'stopping', event: 'KILL', cause: KEY }),
    'lobby is killed without saving: asked over the API',
  );
  t.is(said('running', { to: 'stopping', event: 'MAINTAIN' }), 'lobby goes to sleep for a file operation');
  t.is(said('running', { to: 'hibernated' }), 'lobby sleeps');
  t.is(said('installing', { to: 'hibernated' }), 'lobby is installed');
  t.is(
    said('starting', { to: 'start_failed', failure }),
    'lobby could not start: Out of memory: the game took more than its 512 MB (out_of_memory). Give it more RAM.',
  );
  t.regex(said('running', { to: 'start_failed', failure }), /^lobby ended unexpectedly: Out of memory/);
  t.regex(
    said('starting', { to: 'start_failed', failure: START_TIMEOUT }),
    /\(start_timeout\)\. Check the end of the log/,
  );
});
