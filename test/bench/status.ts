import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createProxy } from '../../proxy/index.ts';
import { handshake, HOST, route, statusPing, statusRequest } from '../proxy/support.ts';
import { cpuMs, message, pinningNote, startRole } from './children.ts';
import type { Report } from './figures.ts';

const WARM_UP_MS = 2_000;
const MEASURED_MS = 6_000;
const CLIENTS = 32;
const ICON = `data:image/png;base64,${'A'.repeat(700)}`;
const LAST_STATUS = JSON.stringify({
  version: { name: 'Paper 1.21.1', protocol: 767 },
  players: { max: 60 },
  favicon: ICON,
});
const EXCHANGE = Buffer.concat([handshake(767, 'status'), statusRequest]);

/**
 * Measures full status exchanges (connect, handshake and request, about 1 KB of status, ping, pong, close) with a
 * sleeping server.
 */
export async function run({ row }: Report): Promise<void> {
  const proxy = startRole(0, import.meta.filename, 'proxy');
  const load = startRole(1, import.meta.filename, 'load', String(await message<number>(proxy)));
  try {
    await message(load);
    const [cpuBefore, countBefore, at] = [cpuMs(proxy), await count(load), performance.now()];
    await delay(MEASURED_MS);
    const [cpu, answers] = [cpuMs(proxy) - cpuBefore, (await count(load)) - countBefore];
    const cpuMicros = (cpu * 1_000) / answers;
    const perSecond = (answers * 1_000) / (performance.now() - at);
    const busy = `one load process, which kept the proxy busy ${Math.round((cpuMicros * perSecond) / 10_000)} % of the time`;
    const note = [busy, pinningNote].filter(Boolean).join('; ');
    row({ figure: 'asleep status answers', value: Math.round(perSecond), unit: '1/s', note });
    row({ figure: 'asleep status, CPU of the proxy each', value: cpuMicros, unit: 'µs' });
    row({ figure: 'asleep status answers a full core could give', value: Math.round(1e6 / cpuMicros), unit: '1/s' });
  } finally {
    load.kill();
    proxy.kill();
  }
}

async function count(load: ReturnType<typeof startRole>): Promise<number> {
  load.send('count');
  return message<number>(load);
}

async function beProxy(): Promise<void> {
  const asleep = route({ lastStatus: LAST_STATUS });
  const silent = (): void => undefined;
  const proxy = createProxy({
    routes: { lookup: (host) => (host === HOST ? asleep : undefined) },
    wake: { admit: async () => {}, wake: () => Promise.reject(new Error('nobody joins here')) },
    log: { debug: silent, info: silent, warn: silent },
  });
  process.send?.((await proxy.listen('127.0.0.1', 0)).port);
}

function beLoad(port: number): void {
  let answers = 0;
  const exchange = (): void => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    let received = 0;
    let pongAt = Infinity;
    socket.write(EXCHANGE);
    socket.on('data', (chunk) => {
      if (received === 0) {
        socket.write(statusPing);
        const length = ((chunk[0] ?? 0) & 0x7f) | ((chunk[1] ?? 0) << 7);
        pongAt = 2 + length;
      }
      received += chunk.length;
      if (received <= pongAt) return;
      answers++;
      socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', exchange);
  };
  for (let client = 0; client < CLIENTS; client++) exchange();
  setTimeout(() => process.send?.('warm'), WARM_UP_MS);
  process.on('message', () => process.send?.(answers));
}

const [, file, role, argument] = process.argv;
if (file === import.meta.filename && role === 'proxy') await beProxy();
if (file === import.meta.filename && role === 'load') beLoad(Number(argument));
