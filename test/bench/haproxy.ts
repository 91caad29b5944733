import { type ChildProcess, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './children.ts';
import { freePort, opens } from './ports.ts';

export const HAS_HAPROXY = spawnSync('haproxy', ['-v']).status === 0;

/** The note for figures that have no peer; '' if HAProxy is installed. */
export const noHaproxyNote = HAS_HAPROXY ? '' : 'haproxy is not installed: no ratios';

/** Starts HAProxy on one core, in front of the game at `gamePort`. */
export async function startHaproxy(gamePort: number): Promise<{ child: ChildProcess; port: number } & AsyncDisposable> {
  const folder = mkdtempSync(join(tmpdir(), 'haproxy-bench-'));
  const port = await freePort();
  const config = join(folder, 'haproxy.cfg');
  const times = 'timeout connect 3s\n timeout client 1h\n timeout server 1h';
  const ends = `bind 127.0.0.1:${port}\n server game 127.0.0.1:${gamePort}`;
  writeFileSync(config, `global\n nbthread 1\ndefaults\n mode tcp\n ${times}\nlisten relay\n ${ends}\n`);
  const child = startChild(0, 'haproxy', ['-db', '-q', '-f', config]);
  const stop = async (): Promise<void> => {
    child.kill();
    rmSync(folder, { recursive: true });
  };
  if (!(await opens(port))) {
    await stop();
    throw new Error('haproxy does not listen');
  }
  return { child, port, [Symbol.asyncDispose]: stop };
}
