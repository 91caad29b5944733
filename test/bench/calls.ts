import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { authenticate } from '../../src/access/keys.ts';
import { openStore } from '../../src/store/store.ts';
import { TABLES } from '../../src/tables.ts';
import { cpuMs, message, pinningNote, startRole } from './children.ts';
import { inFolder } from './control.ts';
import { type Report, median } from './figures.ts';
import { prepareService, startService } from './service.ts';

const SERVERS = 100;
/** Enough keys that none reaches its own limit. */
const KEYS = 1_000;
const CONNECTIONS = 16;
const ROUNDS = 3;
const ROUND_MS = 2_500;
const PATH = '/v1/servers/server-7';
const AUTHENTICATIONS = 200_000;
/** Headers of Node and of the connection, which a server adds automatically. */
const OWN_HEADERS = new Set(['connection', 'keep-alive', 'date', 'content-length']);

interface Target {
  name: string;
  child: ChildProcess;
  port: number;
  perSecond: number[];
  cpuMicros: number[];
}

/** Measures reading one server over the API with a key, beside a bare HTTP server that returns the same bytes. */
export async function run(report: Report): Promise<void> {
  await inFolder(async (folder) => {
    const keys = await prepareService(folder, { servers: SERVERS, keys: KEYS });
    const service = await startService(0, folder);
    const sample = await fetch(`http://127.0.0.1:${service.httpPort}${PATH}`, { headers: { 'x-api-key': keys[0]! } });
    const answer = {
      headers: [...sample.headers].filter(([name]) => !OWN_HEADERS.has(name)),
      body: await sample.text(),
    };
    const bare = startRole(0, import.meta.filename, 'bare', JSON.stringify(answer));
    const load = startRole(1, import.meta.filename, 'load');
    try {
      const targets: Target[] = [
        { name: 'service', child: service.child, port: service.httpPort, perSecond: [], cpuMicros: [] },
        { name: 'bare', child: bare, port: await message<number>(bare), perSecond: [], cpuMicros: [] },
      ];
      await message(load);
      for (let round = 0; round <= ROUNDS; round++) {
        for (const target of targets) {
          const { port, child } = target;
          const [cpu, begun] = [cpuMs(child), performance.now()];
          load.send({ port, keys });
          const count = await message<number>(load);
          // The first round only warms up.
          if (round === 0) continue;
          target.perSecond.push((count * 1_000) / (performance.now() - begun));
          target.cpuMicros.push(((cpuMs(child) - cpu) * 1_000) / count);
        }
      }
      const [own, plain] = targets.map(({ perSecond, cpuMicros }) => [median(perSecond), median(cpuMicros)]) as [
        [number, number],
        [number, number],
      ];
      const note = [`median of ${ROUNDS} rounds`, pinningNote].filter(Boolean).join('; ');
      report.row({ figure: 'GET a server, authenticated', value: own[0], unit: '1/s', note });
      report.row({ figure: 'GET a server, CPU each', value: own[1], unit: 'µs' });
      report.row({ figure: 'bare node:http, the same bytes', value: plain[0], unit: '1/s', note });
      report.row({ figure: 'bare node:http, CPU each', value: plain[1], unit: 'µs' });
      report.row({ figure: 'GET a server ÷ bare node:http, CPU', value: own[1] / plain[1], unit: '1' });
    } finally {
      load.kill();
      bare.kill();
      await service.stop();
    }
    report.row({
      figure: 'authentication of a remembered key',
      value: await authentication(folder, keys[0]!),
      unit: 'µs',
    });
  });
}

/** Returns the time of one authentication, in µs. */
async function authentication(folder: string, key: string): Promise<number> {
  const store = await openStore(`sqlite:${join(folder, 'dormouse.db')}`, TABLES);
  try {
    const batches: number[] = [];
    for (let batch = 0; batch < 10; batch++) {
      const begun = performance.now();
      for (let call = 0; call < AUTHENTICATIONS / 10; call++) await authenticate(store, systemClock, key);
      batches.push(((performance.now() - begun) * 1_000) / (AUTHENTICATIONS / 10));
    }
    return median(batches);
  } finally {
    await store.close();
  }
}

async function beBare({ headers, body }: { headers: [string, string][]; body: string }): Promise<void> {
  const server = createServer((_request, response) => {
    response.writeHead(200, [...headers, ['content-length', String(Buffer.byteLength(body))]].flat());
    response.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.((server.address() as AddressInfo).port);
}

/** Sends requests as fast as the answers arrive, on a few reused connections. */
async function beLoad(): Promise<void> {
  process.send?.('there');
  for (;;) {
    const [{ port, keys }] = (await once(process, 'message')) as [{ port: number; keys: string[] }];
    const requests = keys.map((key) => `GET ${PATH} HTTP/1.1\r\nHost: localhost\r\nx-api-key: ${key}\r\n\r\n`);
    const end = performance.now() + ROUND_MS;
    const counts = await Promise.all(
      Array.from({ length: CONNECTIONS }, (_, index) => asks(port, requests, index, end)),
    );
    process.send?.(counts.reduce((sum, count) => sum + count));
  }
}

function asks(port: number, requests: readonly string[], first: number, end: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    let answers = 0;
    let next = first;
    const ask = (): void => {
      socket.write(requests[next % requests.length]!);
      next += CONNECTIONS;
    };
    socket.on('error', reject).on('close', () => resolve(answers));
    // An answer of this size arrives in one piece, and the next request follows only then.
    socket.on('data', (chunk) => {
      if (!chunk.subarray(0, 12).equals(OK)) return reject(new Error(`answered: ${chunk.toString().slice(0, 200)}`));
      answers++;
      if (performance.now() < end) ask();
      else socket.destroy();
    });
    ask();
  });
}

const OK = Buffer.from('HTTP/1.1 200');

const [, file, role, argument = ''] = process.argv;
if (file === import.meta.filename && role === 'bare')
  await beBare(JSON.parse(argument) as Parameters<typeof beBare>[0]);
if (file === import.meta.filename && role === 'load') await beLoad();
