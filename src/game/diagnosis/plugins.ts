/**
 * Messages of Bukkit servers (Spigot, Paper, Purpur, …) about plugins. They are warnings, because the server runs
 * without the plugin.
 */
import { type Finding, type Place, type Rule, baseName, headline } from './rule.ts';

const COULD_NOT_LOAD = /Could not load (?:plugin )?'([^']{1,200})'/;

/**
 * Returns the file of the plugin whose loading failed with the exception at `place`; undefined if no plugin was being
 * loaded.
 */
export function failedPlugin(place: Place): string | undefined {
  const path = COULD_NOT_LOAD.exec(headline(place)?.text ?? '')?.[1];
  return path === undefined ? undefined : baseName(path);
}

function missingPlugin(plugin: string, needed: string): Finding {
  return {
    code: 'plugin_missing_dependency',
    subject: needed,
    title: 'Missing plugin',
    detail: `${plugin} needs the plugin ${needed}, which is not installed.`,
    suggestion: `Add ${needed} to the server's plugins, then start again.`,
    weight: 'warning',
  };
}

export const PLUGIN_RULES: readonly Rule[] = [
  {
    needle: 'issing dependency plugins: [',
    pattern: /[Mm]issing dependency plugins: \[([^\]]{1,300})\]\. .{0,80}to run '([^']{1,80})'/,
    find: ([, list = '', plugin = '']) =>
      list
        .split(', ')
        .slice(0, 10)
        .map((needed) => missingPlugin(plugin, needed)),
  },
  {
    needle: 'UnknownDependencyException: ',
    pattern: /UnknownDependencyException: (?:Unknown dependency )?([\w-]{1,64})(?:\.|$)/,
    find: ([, needed = ''], place) => missingPlugin(failedPlugin(place) ?? 'A plugin', needed),
  },
  {
    needle: 'Unsupported API version ',
    pattern: /Unsupported API version ([\w.-]{1,32})/,
    find: ([, api = ''], place) => {
      const plugin = failedPlugin(place) ?? 'A plugin';
      return {
        code: 'wrong_minecraft_version',
        subject: failedPlugin(place) ?? '',
        title: 'Plugin for another Minecraft version',
        detail: `${plugin} was made for Minecraft ${api}; this server runs ${place.context.version}.`,
        suggestion: `Install a build of ${plugin} for Minecraft ${place.context.version}, or change the server's version.`,
        weight: 'warning',
      };
    },
  },
];
