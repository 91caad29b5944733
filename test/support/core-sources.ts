import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { ExecutionContext } from 'ava';
import { pack } from 'tar-stream';
import type { SourceUrls } from '../../src/engines/process/cores/sources.ts';
import type { Clock } from '../../src/kernel/clock.ts';
import { systemClock } from '../../src/kernel/system-clock.ts';
import { sum } from './modrinth.ts';
import { until } from './until.ts';

/** A build of a core in a stand-in. Default: a small jar of its own. */
export interface BuildShape {
  build: string;
  jar?: Buffer;
  /** The checksum that the API reports. Default: the true one. */
  checksum?: string;
  /** Of PaperMC. Default: `STABLE`. */
  channel?: string;
}

type Answer = (reply: ServerResponse, request: IncomingMessage) => void;

/**
 * A stand-in for the public sources of cores and of Java, on one address, with answers in the documented shapes. Its
 * files accept ranges.
 */
export interface StandIn {
  url: string;
  urls: SourceUrls & { adoptiumUrl: string };
  asked: { path: string; range: string | undefined; agent: string | undefined }[];
  /** The number of requests for paths that contain this text. */
  count(part: string): number;
  paper(project: string, version: string, builds: readonly BuildShape[]): void;
  purpur(version: string, builds: readonly BuildShape[]): void;
  leaf(version: string, builds: readonly BuildShape[]): void;
  pufferfish(version: string, build: BuildShape): void;
  vanilla(version: string, jar?: Buffer, checksum?: string): void;
  /** `loaders` are newest first. Loaders with a hyphen are not stable. */
  fabric(version: string, loaders: readonly BuildShape[]): void;
  quilt(version: string, loaders: readonly BuildShape[]): void;
  forge(version: string, builds: readonly BuildShape[]): void;
  neoforge(builds: readonly BuildShape[]): void;
  java(major: number, archive: Buffer, checksum?: string): void;
  put(path: string, answer: unknown): void;
  /** Replaces the true answers to the next requests whose path contains `part`, in order. */
  disturb(part: string, ...answers: Answer[]): void;
}

/** A clock on which the pauses between two tries are short. */
export const hurriedClock: Clock = {
  ...systemClock,
  at: (at, fire) => systemClock.at(systemClock.now() + (at - systemClock.now()) / 50, fire),
};

/** Sends the first half of a file, and cuts the connection once the half is in `part`. */
export const cutInHalf =
  (file: Buffer, part: string): Answer =>
  (reply) => {
    const half = file.subarray(0, file.length / 2);
    reply.writeHead(200, { 'content-length': file.length });
    reply.write(half);
    const isThere = async () => (await stat(part).catch(() => undefined))?.size === half.length;
    void until(isThere).finally(() => reply.destroy());
  };

export const answerWith =
  (status: number): Answer =>
  (reply) =>
    void reply.writeHead(status).end();

export async function standIn(t: ExecutionContext): Promise<StandIn> {
  const answers = new Map<string, unknown>();
  const disturbances: { part: string; answer: Answer }[] = [];
  const asked: StandIn['asked'] = [];
  const versions: { id: string; url: string }[] = [];
  const server = createServer((request, reply) => {
    const path = request.url ?? '';
    asked.push({ path, range: request.headers.range, agent: request.headers['user-agent'] });
    const at = disturbances.findIndex(({ part }) => path.includes(part));
    const disturbed = disturbances.splice(at, at < 0 ? 0 : 1)[0]?.answer;
    if (disturbed) return disturbed(reply, request);
    const answer = answers.get(path) ?? answers.get(path.split('?')[0] ?? '');
    if (answer === undefined) return void reply.writeHead(404).end();
    if (!Buffer.isBuffer(answer)) return void reply.end(JSON.stringify(answer));
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const rest = answer.subarray(from);
    const range = { 'content-range': `bytes ${from}-${answer.length - 1}/${answer.length}` };
    reply.writeHead(from > 0 ? 206 : 200, { 'content-length': rest.length, ...(from > 0 && range) }).end(rest);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const put = (path: string, answer: unknown) => void answers.set(path, answer);
  /** A small jar that differs for each name. */
  const jarOf = (name: string) => Buffer.from(`PK\u0003\u0004${name}PK\u0005\u0006${'\0'.repeat(18)}`, 'latin1');
  const maven = (path: string, file: Buffer, checksum = sum(file, 'sha256')) => {
    put(path, file);
    put(`${path}.sha256`, Buffer.from(`${checksum}\n`));
  };

  return {
    url,
    urls: {
      versionManifestUrl: `${url}/mc/game/version_manifest_v2.json`,
      paperUrl: url,
      purpurUrl: url,
      leafUrl: url,
      pufferfishUrl: url,
      fabricMetaUrl: url,
      quiltMetaUrl: url,
      forgeUrl: `${url}/forge-maven`,
      forgePromotionsUrl: `${url}/promotions_slim.json`,
      neoforgeUrl: url,
      adoptiumUrl: url,
    },
    asked,
    count: (part) => asked.filter(({ path }) => path.includes(part)).length,
    put,
    disturb: (part, ...given) => disturbances.push(...given.map((answer) => ({ part, answer }))),

    paper(project, version, builds) {
      const path = `/v3/projects/${project}/versions/${version}/builds`;
      const all = builds.map(
        ({ build, jar = jarOf(`${project} ${version} ${build}`), channel = 'STABLE', checksum }) => {
          const sha256 = checksum ?? sum(jar, 'sha256');
          const name = `${project}-${version}-${build}.jar`;
          put(`/v1/objects/${sha256}/${name}`, jar);
          const file = { name, checksums: { sha256 }, size: jar.length, url: `${url}/v1/objects/${sha256}/${name}` };
          const shape = { id: Number(build), time: '2026-11-01T00:00:00Z', channel, commits: [] };
          put(`${path}/${build}`, { ...shape, downloads: { 'server:default': file } });
          return { ...shape, downloads: { 'server:default': file } };
        },
      );
      put(path, all.toReversed());
    },

    purpur(version, builds) {
      const path = `/v2/purpur/${version}`;
      const all = builds.map(({ build }) => build);
      put(path, { project: 'purpur', version, builds: { latest: all.at(-1), all } });
      for (const { build, jar = jarOf(`purpur ${version} ${build}`), checksum } of builds) {
        const md5 = checksum ?? sum(jar, 'md5');
        put(`${path}/${build}`, {
          project: 'purpur',
          version,
          build,
          result: 'SUCCESS',
          timestamp: 0,
          duration: 1,
          md5,
        });
        put(`${path}/${build}/download`, jar);
      }
    },

    leaf(version, builds) {
      const path = `/v2/projects/leaf/versions/${version}/builds`;
      const all = builds.map(({ build, jar = jarOf(`leaf ${version} ${build}`), checksum }) => {
        const name = `leaf-${version}-${build}.jar`;
        put(`${path}/${build}/downloads/${name}`, jar);
        const downloads = { primary: { name, sha256: checksum ?? sum(jar, 'sha256') } };
        const shape = {
          build: Number(build),
          time: '2026-11-01T00:00:00Z',
          channel: 'default',
          promoted: false,
          downloads,
        };
        put(`${path}/${build}`, shape);
        return shape;
      });
      put(path, { project_id: 'leaf', project_name: 'Leaf', version, builds: all });
    },

    pufferfish(version, { build, jar = jarOf(`pufferfish ${version} ${build}`), checksum }) {
      const job = `/job/Pufferfish-${version.split('.').slice(0, 2).join('.')}`;
      const fileName = `pufferfish-paperclip-${version}-R0.1-SNAPSHOT-mojmap.jar`;
      const relativePath = `pufferfish-server/build/libs/${fileName}`;
      const fingerprint = [{ fileName: relativePath, hash: checksum ?? sum(jar, 'md5') }];
      const shape = { number: Number(build), artifacts: [{ fileName, relativePath }], fingerprint };
      for (const name of ['lastSuccessfulBuild', build]) put(`${job}/${name}/api/json`, shape);
      put(`${job}/${build}/artifact/${relativePath}`, jar);
    },

    vanilla(version, jar = jarOf(`vanilla ${version}`), checksum = sum(jar, 'sha1')) {
      versions.push({ id: version, url: `${url}/v1/packages/${version}.json` });
      put('/mc/game/version_manifest_v2.json', { latest: { release: version }, versions });
      const server = { sha1: checksum, size: jar.length, url: `${url}/v1/objects/${version}/server.jar` };
      put(`/v1/packages/${version}.json`, { id: version, downloads: { server } });
      put(`/v1/objects/${version}/server.jar`, jar);
    },

    fabric(version, loaders) {
      const installer = { url: '', maven: 'net.fabricmc:fabric-installer:1.1.0', version: '1.1.0', stable: true };
      put('/v2/versions/installer', [{ ...installer, version: '1.2.0', stable: false }, installer]);
      const path = `/v2/versions/loader/${version}`;
      const all = loaders.map(({ build, jar = jarOf(`fabric ${version} ${build}`) }) => {
        put(`${path}/${build}/1.1.0/server/jar`, jar);
        const maven = `net.fabricmc:fabric-loader:${build}`;
        return { loader: { separator: '.', build: 1, maven, version: build, stable: !build.includes('-') } };
      });
      put(path, all);
    },

    quilt(version, loaders) {
      const { jar = jarOf('quilt installer'), checksum } = loaders[0] ?? {};
      const path = '/org/quiltmc/quilt-installer/0.13.0/quilt-installer-0.13.0.jar';
      maven(path, jar, checksum);
      put('/v3/versions/installer', [
        { url: url + path, maven: 'org.quiltmc:quilt-installer:0.13.0', version: '0.13.0' },
      ]);
      const loader = (build: string) => ({ separator: '.', build: 1, maven: '', version: build });
      put(
        `/v3/versions/loader/${version}`,
        loaders.map(({ build }) => ({ loader: loader(build) })),
      );
    },

    forge(version, builds) {
      const promos = Object.fromEntries(builds.map(({ build }) => [`${version}-latest`, build]));
      put('/promotions_slim.json', { homepage: 'https://files.minecraftforge.net', promos });
      for (const { build, jar = jarOf(`forge ${build}`), checksum } of builds) {
        const name = `${version}-${build}`;
        maven(`/forge-maven/net/minecraftforge/forge/${name}/forge-${name}-installer.jar`, jar, checksum);
      }
    },

    neoforge(builds) {
      const artifact = 'net/neoforged/neoforge';
      put(`/api/maven/versions/releases/${artifact}`, {
        isSnapshot: false,
        versions: builds.map(({ build }) => build),
      });
      for (const { build, jar = jarOf(`neoforge ${build}`), checksum } of builds)
        maven(`/releases/${artifact}/${build}/neoforge-${build}-installer.jar`, jar, checksum);
    },

    java(major, archive, checksum = sum(archive, 'sha256')) {
      const name = `OpenJDK${major}U-jre_x64_linux_hotspot.tar.gz`;
      put(`/java/${name}`, archive);
      const file = {
        checksum,
        checksum_link: '',
        download_count: 1,
        link: `${url}/java/${name}`,
        name,
        size: archive.length,
      };
      const binary = { architecture: 'x64', image_type: 'jre', jvm_impl: 'hotspot', os: 'linux', package: file };
      put(`/v3/assets/latest/${major}/hotspot`, [
        { binary, release_name: `jdk-${major}.0.1+9`, vendor: 'eclipse', version: { major } },
      ]);
    },
  };
}

/** Returns a Java archive with this program as `bin/java`. `more`: further entries, as path and link target or text. */
export async function javaArchive(
  major: number,
  program: string,
  more: readonly { name: string; text?: string; linkname?: string }[] = [],
): Promise<Buffer> {
  const archive = pack();
  const top = `jdk-${major}.0.1+9-jre`;
  archive.entry({ name: `${top}/`, type: 'directory' });
  archive.entry({ name: `${top}/release` }, `JAVA_VERSION="${major}.0.1"\n`);
  archive.entry({ name: `${top}/bin/java`, mode: 0o755 }, program);
  for (const { name, text, linkname } of more) {
    if (linkname === undefined) archive.entry({ name }, text ?? '');
    else archive.entry({ name, type: 'symlink', linkname });
  }
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive as AsyncIterable<Buffer>) chunks.push(chunk);
  return await promisify(gzip)(Buffer.concat(chunks));
}
