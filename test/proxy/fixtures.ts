import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The packets of a client, and the result that the proxy must derive from them. */
export interface Fixture {
  title: string;
  packets: Buffer[];
  bytes: Buffer;
  expect: {
    intent: 'status' | 'login' | 'transfer' | 'legacyPing' | 'legacyLogin';
    protocol: number;
    key: string | null;
    name: string;
    uuid: string | null;
    form: string;
  };
}

const FOLDER = join(import.meta.dirname, '../fixtures/handshakes');

export const fixtures: Fixture[] = readdirSync(FOLDER).map((file) =>
  readFixture(readFileSync(join(FOLDER, file), 'utf8')),
);

/** Returns the one fixture whose title begins with `title`. Throws if there is not exactly one. */
export function fixture(title: string): Fixture {
  const [found, ...others] = fixtures.filter((candidate) => candidate.title.startsWith(title));
  if (!found || others.length > 0) throw new Error(`${others.length + (found ? 1 : 0)} fixtures are titled ${title}`);
  return found;
}

/** Reads `# title`, `# expect {…}`, then for each packet a `# name` and lines of hexadecimal bytes. */
function readFixture(text: string): Fixture {
  const [title = '', expect = '', ...rest] = text.split('\n');
  const packets: string[] = [];
  for (const line of rest) {
    if (line.startsWith('#')) packets.push('');
    else packets.push((packets.pop() ?? '') + line);
  }
  const buffers = packets.map((packet) => Buffer.from(packet.replaceAll(' ', ''), 'hex'));
  return {
    title: title.slice(2),
    packets: buffers,
    bytes: Buffer.concat(buffers),
    expect: JSON.parse(expect.slice('# expect '.length)) as Fixture['expect'],
  };
}
