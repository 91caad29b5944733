import test from 'ava';
import type { FromProxy } from '../../../proxy/link/messages.ts';
import { Wakes } from '../../../proxy/link/wakes.ts';
import { fakeClock } from '../../fakes/clock.ts';

const HERE = { host: '127.0.0.1', port: 25_565 };
const AWAY = /is not responding right now/;
const MINUTE_MS = 60_000;
const player = (name: string) => ({ name, uuid: null, ip: '203.0.113.7', protocol: 774 });

function waiting() {
  const clock = fakeClock();
  const said: FromProxy[] = [];
  const after = (ms: number, fire: () => void) => clock.at(clock.now() + ms, fire);
  const wakes = new Wakes(
    (message) => said.push(message),
    () => clock.now(),
    after,
  );
  /** Adds a player. `outcome` is the error, the address, or 'waits'. */
  const add = (
    name: string,
    { places, isConnected = true }: { places?: (number | null)[]; isConnected?: boolean } = {},
  ) => {
    const gone = new AbortController();
    const state: { outcome: unknown; gone: AbortController } = { outcome: 'waits', gone };
    const inLine = places && { waitedMs: 0, notify: (place: number | null) => void places.push(place) };
    wakes.add({ server: 'one', player: player(name), inLine }, gone.signal, isConnected).then(
      (address) => (state.outcome = address),
      (error: unknown) => (state.outcome = error),
    );
    return state;
  };
  return { clock, said, wakes, add };
}

test('a player waits ten minutes for an absent service, and another ten minutes at its next absence', async (t) => {
  const { clock, said, wakes, add } = waiting();
  const early = add('Steve');
  t.deepEqual(said.splice(0), [{ type: 'wake', id: 1, server: 'one', player: player('Steve'), waitedMs: undefined }]);
  await clock.advance(60 * MINUTE_MS);
  t.is(early.outcome, 'waits', 'as long as it takes while the service is there');
  wakes.missAll();
  await clock.advance(4 * MINUTE_MS);
  const late = add('Alex', { isConnected: false });
  t.deepEqual(said, [], 'there is no service to ask');
  wakes.askAll();
  t.is(said.splice(0).length, 2, 'both are asked for anew');
  await clock.advance(30 * MINUTE_MS);
  wakes.missAll();
  wakes.missAll();
  await clock.advance(10 * MINUTE_MS - 1);
  t.deepEqual([early.outcome, late.outcome], ['waits', 'waits'], 'a second restart sends no player away');
  await clock.advance(1);
  for (const { outcome } of [early, late]) t.regex(String(outcome), AWAY);
  wakes.askAll();
  t.deepEqual(said, [], 'both have been sent away');
  t.is(clock.pending(), 0);
});

test('an answer ends the wait, and a player who leaves is reported once', async (t) => {
  const { clock, said, wakes, add } = waiting();
  const [steve, alex, sam] = [add('Steve'), add('Alex'), add('Sam')];
  wakes.missAll();
  wakes.askAll();
  said.splice(0);
  wakes.settle(1, HERE);
  wakes.settle(1, new Error('again'));
  alex.gone.abort(new Error('gone'));
  wakes.settle(2, HERE);
  await clock.advance(0);
  t.deepEqual([steve.outcome, String(alex.outcome), sam.outcome], [HERE, 'Error: gone', 'waits']);
  t.deepEqual(said, [{ type: 'cancel', id: 2 }]);
  steve.gone.abort(new Error('later'));
  t.is(said.length, 1);
});

test('the place in line is unknown while the service is away, and is requested again with the time waited', async (t) => {
  const { clock, said, wakes, add } = waiting();
  const [first, second]: (number | null)[][] = [[], []];
  add('Steve', { places: first! });
  add('Alex', { places: second! });
  await clock.advance(1_000);
  wakes.place(1, 2);
  wakes.place(1, 1);
  wakes.missAll();
  t.deepEqual([first, second], [[2, 1, 0], []], 'who was not in line is told nothing');
  await clock.advance(2_000);
  said.splice(0);
  wakes.askAll();
  t.deepEqual(
    said.map((message) => message.type === 'wake' && message.waitedMs),
    [3_000, 3_000],
  );
  wakes.place(1, null);
  wakes.missAll();
  t.deepEqual(first, [2, 1, 0, null]);
});
