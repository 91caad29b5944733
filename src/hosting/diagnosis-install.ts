/** What the image's scripts say when a core or a mod pack could not be fetched. */
import type { Finding, Rule } from './diagnosis-rule.ts';

function downloadFailed(subject: string, detail: string): Finding {
  return {
    code: 'download_failed',
    subject,
    title: 'Download failed',
    detail,
    suggestion: 'Try the installation again in a few minutes; if it stays so, check the name and version.',
  };
}

export const INSTALL_RULES: readonly Rule[] = [
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
      detail: 'The pack holds files whose authors allow only downloads by hand.',
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
    find: ([, host = ''], { context }) =>
      context.phase === 'install' ? downloadFailed(host, `${host} could not be reached.`) : undefined,
  },
  {
    needle: 'No mods found with slug=',
    pattern: /No mods found with slug=([\w.-]{1,80})/,
    find: ([, slug = '']) => downloadFailed(slug, `CurseForge knows no pack or mod named ${slug}.`),
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
