import * as z from 'zod';
import { MIB } from '../../../kernel/units.ts';
import { type MojangVersionsOptions, openMojangVersions } from '../mojang-versions.ts';
import { type CoreSource, type SourceOptions, field, sourceHttp } from './source.ts';

/** https://docs.papermc.io/misc/downloads-service */
const PaperBuild = z.object({
  id: field.number,
  channel: z.string(),
  downloads: z.object({
    'server:default': z.object({ size: field.size, url: field.url, checksums: z.object({ sha256: field.sha256 }) }),
  }),
});
const PaperBuilds = z.array(PaperBuild);
const STABLE = new Set(['STABLE', 'RECOMMENDED']);

/** PaperMC's downloads service, version 3. `project`: `paper`, `folia`, `velocity`. */
export function paperSource(baseUrl: string, project: string, options: SourceOptions): CoreSource {
  const http = sourceHttp("PaperMC's downloads service", baseUrl, options, ['fill-data.papermc.io']);
  return {
    http,
    async find(version, build, signal) {
      const path = `/v3/projects/${project}/versions/${encodeURIComponent(version)}/builds`;
      const newestFirst = async () =>
        (await http.json(path, PaperBuilds, signal))?.toSorted((a, b) => b.id - a.id) ?? [];
      const builds =
        build === undefined ? await newestFirst() : [await http.json(`${path}/${build}`, PaperBuild, signal)];
      const found = builds.find((each) => each && STABLE.has(each.channel)) ?? builds[0];
      if (found === undefined) return undefined;
      const { size: sizeBytes, url, checksums } = found.downloads['server:default'];
      const checksum = { algorithm: 'sha256', hex: checksums.sha256 } as const;
      return { build: String(found.id), file: { name: `${project} ${version}`, url, sizeBytes, checksum } };
    },
  };
}

/** https://purpurmc.org/docs: builds are named by a number in a text. */
const PurpurVersion = z.object({ builds: z.object({ latest: field.build }) });
const PurpurBuild = z.object({ md5: field.md5 });

/** Purpur's API, version 2. It publishes only MD5 checksums. */
export function purpurSource(baseUrl: string, options: SourceOptions): CoreSource {
  const http = sourceHttp('Purpur', baseUrl, options);
  return {
    http,
    async find(version, wanted, signal) {
      const path = `/v2/purpur/${encodeURIComponent(version)}`;
      const build = wanted ?? (await http.json(path, PurpurVersion, signal))?.builds.latest;
      const found = build === undefined ? undefined : await http.json(`${path}/${build}`, PurpurBuild, signal);
      if (build === undefined || found === undefined) return undefined;
      const checksum = { algorithm: 'md5', hex: found.md5 } as const;
      return { build, file: { name: `purpur ${version}`, url: urlOf(baseUrl, `${path}/${build}/download`), checksum } };
    },
  };
}

/** https://api.leafmc.one/docs/swagger-ui, oldest build first. */
const LeafBuilds = z.object({ builds: z.array(z.object({ build: field.number })) });
const LeafBuild = z.object({
  downloads: z.object({ primary: z.object({ name: field.fileName, sha256: field.sha256 }) }),
});

export function leafSource(baseUrl: string, options: SourceOptions): CoreSource {
  const http = sourceHttp('Leaf', baseUrl, options, ['github.com', ...GITHUB_FILES]);
  return {
    http,
    async find(version, wanted, signal) {
      const path = `/v2/projects/leaf/versions/${encodeURIComponent(version)}/builds`;
      const newest = async () => (await http.json(path, LeafBuilds, signal))?.builds.map(({ build }) => build) ?? [];
      const build =
        wanted ??
        (await newest())
          .toSorted((a, b) => a - b)
          .at(-1)
          ?.toString();
      const found = build === undefined ? undefined : await http.json(`${path}/${build}`, LeafBuild, signal);
      if (build === undefined || found === undefined) return undefined;
      const { name, sha256 } = found.downloads.primary;
      const url = urlOf(baseUrl, `${path}/${build}/downloads/${name}`);
      return { build, file: { name: `leaf ${version}`, url, checksum: { algorithm: 'sha256', hex: sha256 } } };
    },
  };
}

/** Hosts that GitHub redirects downloads of releases to. */
export const GITHUB_FILES = ['release-assets.githubusercontent.com', 'objects.githubusercontent.com'];

/** A build of Jenkins (https://www.jenkins.io/doc/book/using/remote-access-api/). */
const JenkinsBuild = z.object({
  number: field.number,
  artifacts: z.array(z.object({ fileName: field.fileName, relativePath: z.string().regex(/^[\w./+-]{1,256}$/) })),
  fingerprint: z.array(z.object({ fileName: z.string(), hash: field.md5 })).default([]),
});
const JENKINS_FIELDS = 'tree=number,artifacts[fileName,relativePath],fingerprint[fileName,hash]';

/** Pufferfish's Jenkins: one job for each release of the game such as 1.21, whose builds are for its newest patch. */
export function pufferfishSource(baseUrl: string, options: SourceOptions): CoreSource {
  const http = sourceHttp('Pufferfish', baseUrl, options);
  return {
    http,
    async find(version, wanted, signal) {
      const release = version.split('.').slice(0, 2).join('.');
      const path = `/job/Pufferfish-${encodeURIComponent(release)}/${wanted ?? 'lastSuccessfulBuild'}`;
      const found = await http.json(`${path}/api/json?${JENKINS_FIELDS}`, JenkinsBuild, signal);
      const fitting = found?.artifacts.filter(({ fileName }) => fileName.includes(`-paperclip-${version}-`)) ?? [];
      const artifact = fitting.find(({ fileName }) => fileName.includes('mojmap')) ?? fitting[0];
      if (found === undefined || artifact === undefined) return undefined;
      const build = String(found.number);
      const url = urlOf(baseUrl, `${path.replace('lastSuccessfulBuild', build)}/artifact/${artifact.relativePath}`);
      const md5 = found.fingerprint.find(({ fileName }) => fileName.endsWith(artifact.fileName))?.hash;
      const checksum = md5 === undefined ? undefined : ({ algorithm: 'md5', hex: md5 } as const);
      return { build, file: { name: `pufferfish ${version}`, url, checksum } };
    },
  };
}

/** Mojang's own server. A version has one build. */
export function vanillaSource(options: MojangVersionsOptions): CoreSource {
  const { http, details } = openMojangVersions(options);
  return {
    http,
    async find(version, _, signal) {
      const server = (await details(version, signal))?.downloads.server;
      if (server === undefined) return undefined;
      const { url, size: sizeBytes, sha1 } = server;
      const checksum = { algorithm: 'sha1', hex: sha1 } as const;
      return { build: '', file: { name: `vanilla ${version}`, url, sizeBytes, checksum } };
    },
  };
}

const FabricVersion = z.object({ version: field.build, stable: z.boolean() });
/** https://github.com/FabricMC/fabric-meta#v2, newest first. */
const FabricLoaders = z.array(z.object({ loader: FabricVersion }));
const FabricInstallers = z.array(FabricVersion);

const MOST_LAUNCHER_BYTES = 16 * MIB;

/**
 * Fabric's launcher. A build is a version of the loader. Fabric creates launchers on request and publishes no
 * checksums, so only the address vouches for one.
 */
export function fabricSource(baseUrl: string, options: SourceOptions): CoreSource {
  const http = sourceHttp("Fabric's list of versions", baseUrl, options);
  return {
    http,
    async find(version, wanted, signal) {
      const path = `/v2/versions/loader/${encodeURIComponent(version)}`;
      const loaders = async () => (await http.json(path, FabricLoaders, signal))?.map(({ loader }) => loader) ?? [];
      const build = wanted ?? stableOf(await loaders());
      const installer = stableOf((await http.json('/v2/versions/installer', FabricInstallers, signal)) ?? []);
      if (build === undefined || installer === undefined) return undefined;
      const url = urlOf(baseUrl, `${path}/${encodeURIComponent(build)}/${encodeURIComponent(installer)}/server/jar`);
      const name = `fabric ${build} for Minecraft ${version}`;
      return { build, file: { name, url, mostBytes: MOST_LAUNCHER_BYTES } };
    },
  };
}

function stableOf(versions: readonly z.output<typeof FabricVersion>[]): string | undefined {
  return (versions.find(({ stable }) => stable) ?? versions[0])?.version;
}

function urlOf(baseUrl: string, path: string): string {
  return baseUrl.replace(/\/$/, '') + path;
}
