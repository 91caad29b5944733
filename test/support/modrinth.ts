import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';
import { ZipFile } from 'yazl';

/** One version in Modrinth's API. Absent fields get default values. */
export interface VersionShape {
  id: string;
  number?: string;
  type?: 'release' | 'beta' | 'alpha';
  loaders?: string[];
  gameVersions?: string[];
  requires?: { project_id: string | null; version_id?: string | null }[];
  filename?: string;
  content?: Buffer;
  /** The hash and the URL that the API reports. Default: the true ones. */
  sha512?: string;
  url?: string;
}

/** A stand-in for Modrinth: the shapes of `api.modrinth.com/v2`, and its CDN under `/data`. */
export interface Modrinth {
  url: string;
  /** Every request, as `path?query`. */
  asked: string[];
  /** Adds a project, or adds versions to it. The last version is the newest. */
  project(id: string, versions: readonly VersionShape[], fields?: Record<string, unknown>): void;
  remove(id: string): void;
  /** Replaces the real answers to the next requests whose path begins with `path`, in order. */
  disturb(path: string, ...answers: ((reply: ServerResponse) => void)[]): void;
}

interface Stored {
  json: Record<string, unknown>;
  versions: Record<string, unknown>[];
}

export async function modrinth(t: ExecutionContext): Promise<Modrinth> {
  const projects = new Map<string, Stored>();
  const files = new Map<string, Buffer>();
  const asked: string[] = [];
  const disturbances: { path: string; answer: (reply: ServerResponse) => void }[] = [];
  let published = Date.parse('2025-01-01T00:00:00Z');

  const server = createServer((request, reply) => {
    asked.push(request.url ?? '');
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://modrinth');
    const at = disturbances.findIndex(({ path }) => pathname.startsWith(path));
    const answer = disturbances.splice(at, at < 0 ? 0 : 1)[0]?.answer ?? truly(pathname, searchParams);
    answer(reply);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  function truly(path: string, query: URLSearchParams): (reply: ServerResponse) => void {
    const file = files.get(path);
    if (file) return (reply) => void reply.end(file);
    const answer = answerTo(path, query);
    if (answer === undefined) return (reply) => void reply.writeHead(404).end();
    return (reply) => void reply.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  }

  function answerTo(path: string, query: URLSearchParams): unknown {
    const [, , kind = '', id = '', list] = path.split('/');
    if (kind === 'search') return searched(query);
    if (kind === 'version')
      return [...projects.values()].flatMap(({ versions }) => versions).find((each) => each['id'] === id);
    const found = projects.get(id) ?? [...projects.values()].find(({ json }) => json['slug'] === id);
    if (list !== 'version') return found?.json;
    return found?.versions.filter(
      (version) =>
        holds(version['loaders'], query.get('loaders')) && holds(version['game_versions'], query.get('game_versions')),
    );
  }

  function searched(query: URLSearchParams): unknown {
    const text = (query.get('query') ?? '').toLowerCase();
    const all = [...projects.values()].filter(({ json }) => String(json['title']).toLowerCase().includes(text));
    const hits = all.map(({ json }) => ({
      ...json,
      project_id: json['id'],
      author: 'someone',
      categories: json['loaders'],
    }));
    const limit = Number(query.get('limit'));
    return { hits: hits.slice(0, limit), offset: 0, limit, total_hits: all.length };
  }

  return {
    url,
    asked,
    project(id, versions, fields = {}) {
      const loaders = versions.flatMap((version) => version.loaders ?? ['fabric']);
      const stored = projects.get(id) ?? {
        json: {
          id,
          slug: id.toLowerCase(),
          title: id,
          description: `What ${id} does.`,
          project_type: 'mod',
          client_side: 'optional',
          server_side: 'required',
          downloads: 1234,
          icon_url: null,
          loaders,
          ...fields,
        },
        versions: [],
      };
      for (const version of versions) stored.versions.unshift(versionJson(id, version));
      projects.set(id, stored);
    },
    remove: (id) => void projects.delete(id),
    disturb: (path, ...answers) => void disturbances.push(...answers.map((answer) => ({ path, answer }))),
  };

  function versionJson(project: string, version: VersionShape): Record<string, unknown> {
    const { id, number = id, filename = `${project.toLowerCase()}-${number}.jar` } = version;
    const content = version.content ?? Buffer.from(`jar of ${project} ${number}`);
    const path = `/data/${project}/versions/${id}/${encodeURIComponent(filename)}`;
    files.set(path, content);
    published += 60_000;
    return {
      id,
      project_id: project,
      name: `${project} ${number}`,
      version_number: number,
      version_type: version.type ?? 'release',
      loaders: version.loaders ?? ['fabric'],
      game_versions: version.gameVersions ?? ['1.21.1'],
      date_published: new Date(published).toISOString().replace('Z', '000+00:00'),
      dependencies: (version.requires ?? []).map(({ project_id, version_id = null }) => {
        return { project_id, version_id, file_name: null, dependency_type: 'required' };
      }),
      files: [
        {
          hashes: { sha512: version.sha512 ?? sum(content), sha1: sum(content, 'sha1') },
          url: version.url ?? `${url}${path}`,
          filename,
          primary: true,
          size: content.length,
          file_type: null,
        },
      ],
    };
  }
}

export function sum(content: Buffer, algorithm = 'sha512'): string {
  return createHash(algorithm).update(content).digest('hex');
}

/** Returns a modpack archive: its index and further files. */
export async function mrpack(index: object, files: Record<string, string> = {}): Promise<Buffer> {
  const whole = { formatVersion: 1, game: 'minecraft', versionId: '1', name: 'Pack', files: [], ...index };
  return await zipOf({ 'modrinth.index.json': JSON.stringify(whole), ...files });
}

export async function zipOf(files: Readonly<Record<string, string | Buffer>>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [path, content] of Object.entries(files)) zip.addBuffer(Buffer.from(content), path);
  zip.end();
  const chunks: Buffer[] = [];
  for await (const chunk of zip.outputStream) chunks.push(Buffer.from(chunk as Uint8Array));
  return Buffer.concat(chunks);
}

function holds(words: unknown, wanted: string | null): boolean {
  return wanted === null || (JSON.parse(wanted) as string[]).some((each) => (words as string[]).includes(each));
}
