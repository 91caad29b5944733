import { SANDBOX } from '../game/container.ts';
import type { TemplateRow } from './rows.ts';

/** A template as its users see it, of any maker. */
export type Template = Omit<TemplateRow, 'accountId' | 'createdAt'>;

const PLAIN = {
  motd: '',
  plan: 'metered',
  properties: {} as Record<string, string>,
  modpackPlatform: '',
  modpackRef: '',
  modpackVersion: '',
};

/** The templates that every account finds. `version` is left empty where the newest release is meant. */
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

/** The built-in templates, with their versions filled in: the sandbox's newest, and the newest release for the others. */
export function builtInTemplates(newest: { sandbox: string; release: string }): Template[] {
  const versionOf = (serverType: string) => (serverType === SANDBOX ? newest.sandbox : newest.release);
  return BUILT_IN.map((template) => Object.assign({}, template, { version: versionOf(template.serverType) }));
}
