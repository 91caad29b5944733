import test from 'ava';
import { Progress } from '../../src/backups/base.ts';

test('the progress of a backup is known only while it is created or restored', (t) => {
  const progress = new Progress();
  const percents = () => ['a', 'b'].map((id) => progress.of('lobby', id));
  progress.publish('lobby', { id: 'a', state: 'running', percent: 40 });
  t.deepEqual(percents(), [40, 0]);
  t.is(progress.of('other', 'a'), 0);
  progress.publish('lobby', { id: 'b', state: 'deleted', percent: 0 });
  t.deepEqual(percents(), [40, 0], 'the end of another backup changes nothing');
  progress.publish('lobby', { id: 'a', state: 'ready', percent: 100 });
  progress.publish('lobby', { id: 'b', state: 'restoring', percent: 7 });
  t.deepEqual(percents(), [0, 7]);
  progress.forget('lobby');
  t.deepEqual(percents(), [0, 0]);
});
