import test, { type ExecutionContext } from 'ava';
import { type EngineChange, engineAfter, noteEngine } from '../../src/engines/engine-change.ts';
import { createLog } from '../../src/kernel/log.ts';
import { openEmptyStore } from '../support/empty-store.ts';

/** An installation that last used the engine `before`. Returns a function that chooses its next engine. */
async function ranBy(t: ExecutionContext, before?: EngineChange['chosen']) {
  const store = await openEmptyStore();
  t.teardown(() => store.close());
  if (before) await noteEngine(store, before);
  return (setting: EngineChange['setting'], chosen: EngineChange['chosen'], count: number, accepted = false) =>
    engineAfter({ store, setting, chosen, awake: async () => count, accepted, log: createLog({ level: 'silent' }) });
}

test('another engine is refused while servers are awake on the previous one', async (t) => {
  const next = await ranBy(t, 'docker');
  const refused = await t.throwsAsync(next('swarm', 'swarm', 2));
  t.like(refused, { reason: 'ENGINE_CHANGED' });
  t.regex(
    refused.message,
    /^ENGINE=swarm, but 2 servers were last seen awake on ENGINE=docker.*start with ENGINE=docker and stop/,
  );
  t.is(await next('swarm', 'swarm', 0), 'swarm');
  t.is(await next('docker', 'docker', 2), 'docker');
  t.is(await next('swarm', 'swarm', 2, true), 'swarm', 'the operator accepts the change');
});

test('without a named engine the previous one is kept while its servers are awake', async (t) => {
  const next = await ranBy(t, 'process');
  t.is(await next('auto', 'docker', 1), 'process');
  t.is(await next('auto', 'docker', 0), 'docker');
  await t.throwsAsync((await ranBy(t, 'swarm'))('auto', 'docker', 1), {
    message: /1 server was last seen awake on ENGINE=swarm/,
  });
  t.is(await (await ranBy(t))('swarm', 'swarm', 5), 'swarm', 'a new installation has no previous engine');
});
