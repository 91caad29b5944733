/** Messages of the image's scripts about a core or mod pack that could not be downloaded. */
import { type DiagnosisContext, type Finding, type Rule, baseName } from './rule.ts';

function downloadFailed(subject: string, detail: string): Finding {
  return {
    code: 'download_failed',
    subject,
    title: 'Download failed',
    detail,
    suggestion: 'Try the installation again in a few minutes. If that does not help, check the name and version.',
  };
}

/** Returns the finding of a network failure. While a game runs, only plugins use the network. */
function passing(phase: DiagnosisContext['phase'], subject: string, detail: string): Finding | undefined {
  if (phase === 'run') return undefined;
  const finding = downloadFailed(subject, detail);
  if (phase === 'install') return finding;
  return { ...finding, suggestion: 'Try again in a few minutes.', weight: 'vague' };
}

function noSuchVersion(version: string, core: string): Finding {
  return {
    code: 'wrong_minecraft_version',
    subject: version,
    title: 'No such version',
    detail: `There is no build of ${core} for Minecraft ${version}.`,
    suggestion: 'Choose another version.',
  };
}

export const INSTALL_RULES: readonly Rule[] = [
  {
    needle: 'CUSTOM_SERVER is not properly set',
    pattern: /CUSTOM_SERVER is not properly set to a URL or existing jar file/,
    find: () => ({
      code: 'missing_jar',
      subject: 'server.jar',
      title: 'No server.jar',
      detail: "There is no server.jar in the server's folder.",
      suggestion: 'Upload the jar of the server as server.jar, then start.',
    }),
  },
  {
    needle: 'disallowed project distribution',
    pattern:
      /authors of the mod '(.{1,100}?)' have disallowed project distribution\. Manually download the file '(.{1,100}?)' from (https:\/\/\S{1,200})/,
    find: ([, mod = '', file = '', url = '']) => ({
      code: 'modpack_manual_download',
      subject: mod,
      title: 'Mod must be downloaded by hand',
      detail: `The authors of ${mod} allow only downloads by hand (file ${file}).`,
      suggestion: `Download it from ${url} and upload it to the mods folder, then try again.`,
    }),
  },
  {
    needle: ['MODS_NEED_DOWNLOAD.txt', 'Mods Need Download', 'not allowed for project distribution'],
    pattern: /MODS_NEED_DOWNLOAD\.txt|Mods Need Download|not allowed for project distribution/,
    find: () => ({
      code: 'modpack_manual_download',
      subject: '',
      title: 'Mods must be downloaded by hand',
      detail: 'The pack contains files whose authors allow only downloads by hand.',
      suggestion:
        'Download the files listed in MODS_NEED_DOWNLOAD.txt, upload them to the mods folder, then try again.',
      weight: 'vague',
    }),
  },
  {
    needle: 'No build found for version ',
    pattern: /No build found for version (\S{1,40}) with channel '(\w{1,40})'/,
    find: ([, version = '', channel = ''], { context }) => ({
      code: 'wrong_minecraft_version',
      subject: version,
      title: 'No such version',
      detail: `There is no ${channel === 'default' ? 'stable' : channel} build of ${context.core} for Minecraft ${version}.`,
      suggestion: 'Choose another version.',
    }),
  },
  {
    needle: 'UnknownHostException: ',
    pattern: /UnknownHostException: ([\w.-]{1,120})/,
    find: ([, host = ''], { context }) => passing(context.phase, host, `${host} could not be reached.`),
  },
  {
    needle: ['ConnectException: ', 'ConnectTimeoutException', 'SocketTimeoutException', 'SSLHandshakeException'],
    pattern:
      /^(?:Caused by: )?[\w.]{1,80}\.(?:ConnectException: Connection (?:refused|timed out|reset)|\w{0,20}(?:ConnectTimeout|SocketTimeout|SSLHandshake)Exception)/,
    find: (_, { context }) => passing(context.phase, '', 'A server on the internet did not answer.'),
  },
  {
    needle: 'HTTP request of ',
    pattern: /HTTP request of https?:\/\/([\w.-]{1,120})\S{0,300} failed with (\d{3})/,
    find: ([, host = '', status = '']) =>
      downloadFailed(host, `${host} answered ${status}${status === '404' ? ': not found' : ''}.`),
  },
  {
    // Paperclip (Paper, Purpur, Folia, …) downloads Mojang's server and patches it.
    needle: 'Hash check ',
    pattern:
      /Hash check (?:failed for (?:downloaded file|extract filed?)|of (?:input|patch) file failed for) (\S{1,200})/,
    find: ([, path = '']) => ({
      ...downloadFailed(baseName(path), `${baseName(path)} was damaged during the download.`),
      suggestion:
        'Start again to repeat the download. If that does not help, delete the folders cache and versions first.',
    }),
  },
  {
    needle: [' does not support ', ' builds do not exist for ', 'Could not find build '],
    pattern:
      /^(?:\[ERROR\] |ERROR: )?(?:(?:\w{1,20}) does not support (\S{1,40}) \(expected|\w{1,20} builds do not exist for (\S{1,40})|Could not find build \S{1,40} for version (\S{1,40}))/,
    find: ([, one = '', two = '', three = ''], { context, line }) =>
      line.source === 'game' ? undefined : noSuchVersion(one || two || three, context.core),
  },
  {
    needle: ['Unable to find suitable version for Minecraft ', 'Requested version not found'],
    pattern: /(?:Unable to find suitable version for Minecraft (\S{1,40})|Requested version not found)/,
    find: ([, version = ''], { context }) => noSuchVersion(version || context.version, context.core),
  },
  {
    needle: "' command failed",
    pattern: /^'install-(?!curseforge|modrinth)([\w-]{1,40})' command failed/,
    find: ([, what = ''], { line }) =>
      line.source === 'image'
        ? { ...downloadFailed(what, `The installer of ${what} failed.`), weight: 'vague' }
        : undefined,
  },
  {
    needle: ['ailed to install', 'error during server installation'],
    pattern:
      /^(?:\[ERROR\] |ERROR: )?(?:Failed to install ?(Forge|NeoForge|Quilt|forge)\b|There was an error during server installation)/,
    find: ([, what = 'mod loader'], { line }) =>
      line.source === 'game'
        ? undefined
        : { ...downloadFailed(what, `The installer of ${what} failed.`), weight: 'vague' },
  },
  {
    needle: 'No mods found with slug=',
    pattern: /No mods found with slug=([\w.-]{1,80})/,
    find: ([, slug = '']) => downloadFailed(slug, `CurseForge has no pack or mod named ${slug}.`),
  },
  {
    needle: 'Failed to ',
    pattern:
      /^(?:\[ERROR\] |ERROR: )?Failed to (?:auto-install|install) ?(.{1,80}?(?:modpack|Minecraft version|server|loader))\b/,
    find: ([, what = ''], { line }) =>
      line.source === 'game'
        ? undefined
        : { ...downloadFailed(what, `The ${what} could not be installed.`), weight: 'vague' },
  },
  {
    needle: 'Failed to download ',
    pattern: /^(?:\[ERROR\] |ERROR: )?Failed to download (\S{1,300})/,
    find: ([, what = ''], { line }) =>
      line.source === 'game' ? undefined : downloadFailed(what, `${what} could not be downloaded.`),
  },
];
