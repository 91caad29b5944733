import * as z from 'zod';
import { isFor } from '../java-launch.ts';
import { type CoreSource, type SourceOptions, checksumBeside, field, sourceHttp } from './source.ts';

/** https://meta.quiltmc.org, newest first. */
const QuiltLoaders = z.array(z.object({ loader: z.object({ version: field.build }) }));
const QuiltInstallers = z.array(z.object({ url: field.url }));

/** Quilt's installer. A build is a version of the loader. */
export function quiltSource(metaUrl: string, options: SourceOptions): CoreSource {
  const http = sourceHttp('Quilt', metaUrl, options, ['maven.quiltmc.org']);
  return {
    http,
    async find(version, wanted, signal) {
      const list = async () => {
        const path = `/v3/versions/loader/${encodeURIComponent(version)}`;
        return (await http.json(path, QuiltLoaders, signal))?.map(({ loader }) => loader.version) ?? [];
      };
      const build = wanted ?? releaseOf(await list());
      const url = (await http.json('/v3/versions/installer', QuiltInstallers, signal))?.[0]?.url;
      if (build === undefined || url === undefined) return undefined;
      const checksum = await checksumBeside(http, url, signal);
      return { build, file: { name: `the installer of quilt ${build}`, url, checksum } };
    },
    installer: (version, build, folder) => [
      'install',
      'server',
      version,
      build,
      '--download-server',
      `--install-dir=${folder}`,
    ],
  };
}

/** Builds by Minecraft version: `1.20.1-recommended`, `1.20.1-latest`. */
const Promotions = z.object({ promos: z.record(z.string(), field.build) });

/** Forge's installer, from its Maven repository. */
export function forgeSource(mavenUrl: string, promotionsUrl: string, options: SourceOptions): CoreSource {
  const list = sourceHttp("Forge's list of builds", new URL(promotionsUrl).origin, options, [
    'files.minecraftforge.net',
    'maven.minecraftforge.net',
  ]);
  const http = sourceHttp('Forge', mavenUrl, options, ['maven.minecraftforge.net']);
  const newest = async (version: string, signal: AbortSignal) => {
    const { promos = {} } = (await list.json(promotionsUrl, Promotions, signal)) ?? {};
    return promos[`${version}-recommended`] ?? promos[`${version}-latest`];
  };
  return {
    http,
    async find(version, wanted, signal) {
      const build = wanted ?? (await newest(version, signal));
      if (build === undefined) return undefined;
      // Some of the oldest builds repeat the version at the end of their names.
      for (const name of [`${version}-${build}`, `${version}-${build}-${version}`]) {
        const url = installerUrl(mavenUrl, 'net/minecraftforge/forge', name);
        const checksum = await checksumBeside(http, url, signal);
        if (checksum) return { build, file: { name: `the installer of forge ${name}`, url, checksum } };
      }
      return undefined;
    },
    installer: () => ['--installServer'],
  };
}

/** Answer of a Reposilite server, oldest version first. */
const MavenVersions = z.object({ versions: z.array(z.string().max(64)) });

/** NeoForge's installer, from its Maven repository. For 1.20.1 it was still called Forge. */
export function neoforgeSource(mavenUrl: string, options: SourceOptions): CoreSource {
  const http = sourceHttp('NeoForge', mavenUrl, options);
  const prefix = (version: string) => (version === '1.20.1' ? '1.20.1-' : '');
  return {
    http,
    async find(version, wanted, signal) {
      const artifact = version === '1.20.1' ? 'net/neoforged/forge' : 'net/neoforged/neoforge';
      const list = async () => {
        const all =
          (await http.json(`/api/maven/versions/releases/${artifact}`, MavenVersions, signal))?.versions ?? [];
        const fitting = all.filter((each) => field.build.safeParse(each).success && isFor(each, version));
        return fitting.map((each) => each.slice(prefix(version).length)).toReversed();
      };
      const build = wanted ?? releaseOf(await list());
      if (build === undefined) return undefined;
      const url = installerUrl(`${mavenUrl.replace(/\/$/, '')}/releases`, artifact, prefix(version) + build);
      const checksum = await checksumBeside(http, url, signal);
      return checksum && { build, file: { name: `the installer of neoforge ${build}`, url, checksum } };
    },
    installer: () => ['--installServer'],
  };
}

function installerUrl(mavenUrl: string, artifact: string, name: string): string {
  const project = artifact.slice(artifact.lastIndexOf('/') + 1);
  return `${mavenUrl.replace(/\/$/, '')}/${artifact}/${name}/${project}-${name}-installer.jar`;
}

/** Returns the first version that is not a preview, otherwise the first. */
function releaseOf(newestFirst: readonly string[]): string | undefined {
  return newestFirst.find((each) => !each.includes('-')) ?? newestFirst[0];
}
