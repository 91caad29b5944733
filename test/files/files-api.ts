import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { ExecutionContext } from 'ava';
import { type Header, pack as tarPack } from 'tar-stream';
import { ZipFile } from 'yazl';
import { type FakeDisk, fakeDisk } from '../fakes/disk.ts';
import { type Answer, type ApiUnderTest, type CallOptions, api } from '../support/api-harness.ts';

interface FilesUnderTest extends ApiUnderTest {
  until: (holds: () => boolean | Promise<boolean>) => Promise<void>;
  disk: FakeDisk;
  root: string;
  put: (path: string, content?: string | Buffer) => void;
  see: (path: string) => string;
  /** Every path below the root, except the service's folder for temporary files. */
  tree: () => string[];
  post: (verb: string, body: object) => Promise<Answer>;
  upload: (path: string, raw: string | Uint8Array, options?: CallOptions & { overwrite?: boolean }) => Promise<Answer>;
  /** Downloads a file. Returns the response and its bytes. */
  fetch: (
    path: string,
    headers?: Record<string, string>,
    method?: string,
  ) => Promise<{ answer: Response; bytes: Buffer }>;
}

export async function filesApi(t: ExecutionContext, limitBytes = 100 * 1024 * 1024): Promise<FilesUnderTest> {
  const disk = fakeDisk(limitBytes);
  const it = await api(t, { filesDisk: disk });
  await it.create('abc');
  const root = join(it.dataDir, 'servers/abc');
  mkdirSync(root, { recursive: true });
  return {
    ...it,
    disk,
    root,
    put(path, content = 'x') {
      mkdirSync(join(root, posix.dirname(path)), { recursive: true });
      writeFileSync(join(root, path), content);
    },
    see: (path) => readFileSync(join(root, path), 'utf8'),
    tree: () =>
      readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((path) => path !== '.dormouse-tmp')
        .sort(),
    post: (verb, body) => it.call('POST', `/v1/servers/abc/file${verb}`, { body }),
    upload(path, raw, { overwrite, ...options } = {}) {
      const query = new URLSearchParams({ path, ...(overwrite !== undefined && { overwrite: String(overwrite) }) });
      return it.call('POST', `/v1/servers/abc/file:upload?${query.toString()}`, { raw, ...options });
    },
    async fetch(path, headers = {}, method = 'GET') {
      const answer = await fetch(`${it.origin}/v1/servers/abc/file:download?path=${encodeURIComponent(path)}`, {
        method,
        headers: { 'x-api-key': it.key, ...headers },
      });
      return { answer, bytes: Buffer.from(await answer.arrayBuffer()) };
    },
  };
}

export const base64 = (text: string) => Buffer.from(text).toString('base64');

export async function tar(...entries: [Partial<Header> & { name: string }, (string | Buffer)?][]): Promise<Buffer> {
  const pack = tarPack();
  for (const [header, content = ''] of entries) pack.entry({ ...header }, content as string);
  pack.finalize();
  return await buffer(pack);
}

export async function zip(...entries: [name: string, content: string, mode?: number][]): Promise<Buffer> {
  const file = new ZipFile();
  for (const [name, content, mode = 0o100644] of entries)
    file.addBuffer(Buffer.from(content), name, { mode, compress: true });
  file.end();
  return await buffer(file.outputStream);
}

/** Creates a zip and changes the name of its entry, to one of the same length that no tool would write. */
