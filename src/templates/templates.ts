import { SANDBOX } from '../game/cores.ts';
import type { TemplateRow } from './rows.ts';

/** A template as users see it, built-in or their own. */
export type Template = Omit<TemplateRow, 'accountId' | 'createdAt'>;

const PLAIN = {
  motd: '',
  plan: 'metered',
  properties: {} as Record<string, string>,
  modpackPlatform: '',
  modpackRef: '',
  modpackVersion: '',
};

/** Templates available to every account. An empty `version` means the newest release. */
const BUILT_IN: readonly Template[] = [
  {
    ...PLAIN,
    id: 'sandbox',
    name: 'Sandbox',
    description:
      'A built-in flat world to try things out. No download, starts in a second. Doesn’t check Minecraft accounts.',
    serverType: SANDBOX,
    version: '',
    ramMb: 512,
  },
  {
    ...PLAIN,
    id: 'survival',
    name: 'Survival with friends',
    description: 'Paper: plain survival that runs well, ready for plugins.',
    serverType: 'paper',
    version: '',
    ramMb: 4096,
    properties: { difficulty: 'normal', 'max-players': '10', 'view-distance': '10' },
  },
  {
    ...PLAIN,
    id: 'vanilla',
    name: 'Vanilla',
    description: "Mojang's own server, as it is.",
    serverType: 'vanilla',
    version: '',
    ramMb: 4096,
  },
  {
    ...PLAIN,
    id: 'creative',
    name: 'Creative building',
    description: 'A peaceful flat world in creative mode.',
    serverType: 'paper',
    version: '',
    ramMb: 3072,
    properties: {
      gamemode: 'creative',
      difficulty: 'peaceful',
      'level-type': 'minecraft:flat',
      'spawn-protection': '0',
    },
  },
  {
    ...PLAIN,
    id: 'modded-fabric',
    name: 'Modded (Fabric)',
    description: 'An empty Fabric server for mods of your own.',
    serverType: 'fabric',
    version: '',
    ramMb: 6144,
    properties: { 'view-distance': '8' },
  },
];

/** Returns the built-in templates with versions: the newest of the sandbox, and the newest release for the others. */
export function builtInTemplates(newest: { sandbox: string; release: string }): Template[] {
  const versionOf = (serverType: string) => (serverType === SANDBOX ? newest.sandbox : newest.release);
  return BUILT_IN.map((template) => Object.assign({}, template, { version: versionOf(template.serverType) }));
}
