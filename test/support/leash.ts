/**
 * Loaded before a program that tests start. When the other end of its standard input closes, the program ends, with the
 * games and proxies it has started. This covers a test thread that is ended for taking too long, which runs no
 * teardown.
 */
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';
import '../../src/quick-imports.js';
import { endProcess } from './end-process.ts';
import { runningGames } from './running-games.ts';
import { runningProxies } from './running-proxies.ts';

if (isMainThread) {
  process.stdin.resume().once('end', () => void end());
  (process.stdin as { unref?: () => void }).unref?.();
}

async function end(): Promise<void> {
  const { DATA_DIR: dataDir } = process.env;
  const games = dataDir ? await runningGames({ dataDir }) : [];
  const proxies = dataDir ? await runningProxies({ dataDir }) : [];
  for (const pid of [...games.map(({ pid }) => pid), ...proxies, process.pid]) endProcess(pid);
}
