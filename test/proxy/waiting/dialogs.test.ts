import test from 'ava';
import type { Route } from '../../../proxy/ports.ts';
import { wordsOf } from '../../../proxy/text.ts';
import { type WaitingView, failureDialog, waitingDialog } from '../../../proxy/waiting/dialogs.ts';
import { WaitingList } from '../../../proxy/waiting/waiting-list.ts';
import { route } from '../support.ts';

const NOBODY = { names: [], more: 0 };

/** Returns the words of a dialog: its title, then each paragraph. */
function words(change: Partial<Route>, view: Partial<WaitingView> = {}): string[] {
  const { title, body } = waitingDialog({
    route: route(change),
    place: null,
    leftSeconds: null,
    waitedSeconds: 0,
    others: NOBODY,
    ...view,
  });
  return [wordsOf(title), ...(body as { contents: unknown }[]).map(({ contents }) => wordsOf(contents))];
}

test('the waiting dialog shows the server’s name, description and progress, and the other waiting players', (t) => {
  const state = { state: 'starting', phase: 'generating_world', percent: 40, motd: '§6Castle\nBuild with us' } as const;
  const others = { names: ['Alex', 'Sam'], more: 3 };
  t.deepEqual(words(state, { leftSeconds: 30, waitedSeconds: 10, others }), [
    'Castle',
    'Castle\nBuild with us',
    `Preparing the world\n${'|'.repeat(40)}\nAbout 30 s`,
    'Also waiting: Alex, Sam and 3 more',
    'You join automatically when the server is ready.',
  ]);
});

test('the waiting dialog omits unknown details', (t) => {
  const [, state] = words({ state: 'hibernated' });
  t.is(state, 'Waking up');
  t.is(words({ state: 'starting' })[1], 'Starting');
  t.is(words({ state: 'starting', percent: -1 })[1], 'Starting', 'as while the service is away');
  t.is(words({ state: 'starting', phase: 'generating_world', percent: 40.4 })[1]?.split('\n').at(-1), '40 %');
  t.is(words({ state: 'starting', phase: '§cnew\u0007' })[1], 'new');
  t.regex(words({ state: 'stopping' })[1] ?? '', /^Saving/);
  t.regex(words({ state: 'running' })[1] ?? '', /^Almost ready/);
  t.is(words({ state: 'starting' }, { leftSeconds: 150, waitedSeconds: 1 })[1]?.split('\n').at(-1), 'About 3 min');
});

test('a player in line sees their place, but no progress of a start that has not begun', (t) => {
  const line = (place: number) => words({ percent: 40 }, { place, leftSeconds: 30, waitedSeconds: 10 })[1]?.split('\n');
  t.deepEqual(line(2), ['You are 2nd in line', 'This host is full. The server starts when there is capacity.']);
  const places = [1, 3, 4, 11, 12, 13, 21, 112].map((place) => line(place)?.[0]);
  t.deepEqual(
    places,
    ['1st', '3rd', '4th', '11th', '12th', '13th', '21st', '112th'].map((place) => `You are ${place} in line`),
  );
  t.is(line(0)?.[0], 'You are in line', 'as while the service is away');
});

test('the progress bar fills with the elapsed share of the wait, or with the percentage', (t) => {
  const green = (view: Partial<WaitingView>, percent = 0): number => {
    const { body } = waitingDialog({
      route: route({ state: 'starting', percent }),
      place: null,
      leftSeconds: null,
      waitedSeconds: 0,
      others: NOBODY,
      ...view,
    });
    const parts = JSON.stringify(body).match(/"text":"(\|+)\\?n?","color":"green"/);
    return parts?.[1]?.length ?? 0;
  };
  t.is(green({ leftSeconds: 30, waitedSeconds: 10 }), 10);
  t.is(green({ leftSeconds: 10, waitedSeconds: 30 }), 30);
  t.is(green({}, 50), 20);
  t.is(green({}, 1_000), 40);
  t.is(green({}), 0);
});

test('the failure dialog shows the cause, and every dialog stays open until its leave button is pressed', (t) => {
  const failure = failureDialog(route(), '§cIt could not start.\nIts owner can see why.');
  t.regex(JSON.stringify(failure), /It could not start\.\\nIts owner can see why\./);
  const waiting = waitingDialog({ route: route(), place: null, leftSeconds: null, waitedSeconds: 0, others: NOBODY });
  for (const dialog of [failure, waiting])
    t.like(dialog, {
      type: 'minecraft:notice',
      can_close_with_escape: false,
      pause: false,
      after_action: 'none',
      action: { action: { type: 'minecraft:custom', id: 'dormouse:leave' } },
    });
});

test('the waiting list names up to five other players, in order of arrival', (t) => {
  const list = new WaitingList(1_000, () => 0);
  const players = Array.from({ length: 8 }, (_, index) => ({
    name: `Player${index}`,
    uuid: null,
    ip: '203.0.113.9',
    protocol: 774,
  }));
  const leave = players.map((player) => list.add('one', player));
  const [first, second] = players;
  if (!first || !second) throw new Error('nobody');
  t.deepEqual(list.others('one', first), { names: [1, 2, 3, 4, 5].map((index) => `Player${index}`), more: 2 });
  t.deepEqual(list.others('two', first), { names: ['Player0'].slice(1), more: 0 });
  for (const each of leave.slice(1)) each();
  t.deepEqual(list.others('one', first), { names: [], more: 0 });
  t.deepEqual(list.others('one', second), { names: ['Player0'], more: 0 });
});

test('a transferred player is expected back once, by name, address and host, for a limited time', (t) => {
  let at = 0;
  const list = new WaitingList(1_000, () => at);
  const steve = { name: 'Steve', uuid: null, ip: '203.0.113.9', protocol: 774 };
  t.false(list.takeBack('a.example', steve));
  list.expect('a.example', steve);
  t.false(list.takeBack('b.example', steve));
  t.false(list.takeBack('a.example', { ...steve, name: 'Alex' }));
  t.false(list.takeBack('a.example', { ...steve, ip: '203.0.113.10' }));
  t.true(list.takeBack('a.example', steve));
  t.false(list.takeBack('a.example', steve));
  list.expect('a.example', steve);
  at = 1_000;
  t.false(list.takeBack('a.example', steve));
  for (let index = 0; index <= 10_000; index++) list.expect('a.example', { ...steve, name: `P${index}` });
  t.false(list.takeBack('a.example', { ...steve, name: 'P0' }), 'the oldest make room');
  t.true(list.takeBack('a.example', { ...steve, name: 'P1' }));
});
