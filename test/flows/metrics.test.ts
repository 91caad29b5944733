import { join } from 'node:path';
import test from 'ava';
import { eventData } from '../../src/cli/http.ts';
import { startService } from '../support/service.ts';

interface Figures {
  tps: number;
  mspt: number;
  memUsedMb: number;
  live: boolean;
}

test('a real game’s metrics are sampled over one persistent console connection', async (t) => {
  const hurried = [join(import.meta.dirname, 'hurried-main.ts'), String(Date.now()), '5'];
  const service = await startService(t, { START_TIMEOUT_SECONDS: '7200' }, hurried);
  await service.create('pace', '1.20.4');
  await service.call('POST', '/v1/servers/pace:start');
  await service.reach('pace', 'running');
  const list = () => service.call<{ output: string }>('POST', '/v1/servers/pace:command', { command: 'list' });
  t.regex((await list()).output, /There are 0/);
  const headers = { 'x-api-key': service.apiKey };
  const stream = await fetch(`${service.baseUrl}/v1/servers/pace/events/stream`, { headers });
  let told: Partial<Figures> = {};
  let shown: Figures | undefined;
  for await (const data of eventData(stream.body!)) {
    told = JSON.parse(data) as Partial<Figures>;
    if (told.tps === undefined) continue;
    shown = await service.call<Figures>('GET', '/v1/servers/pace/metrics');
    // Otherwise another reading came in between, or the reading precedes the game's start.
    if (shown.tps === told.tps && shown.mspt === told.mspt && shown.memUsedMb > 1) break;
  }
  const { tps, mspt, memUsedMb, live } = shown!;
  t.like(told, { tps, mspt, memUsedMb, live });
  t.true(live);
  // The time per tick of an idle sandbox may round to 0.
  t.true(tps > 0 && tps <= 20 && mspt >= 0 && mspt < 1_000, `${tps} ticks a second, ${mspt} ms each`);
  t.true(memUsedMb > 1);
  await list();
  const { lines } = await service.call<{ lines: string[] }>('GET', '/v1/servers/pace/logs?tail=1000');
  t.is(lines.filter((line) => /RCON Client .* started/.test(line)).length, 1, lines.join('\n'));
});
