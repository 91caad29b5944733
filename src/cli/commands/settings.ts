import { done } from '../api.ts';
import { call, on } from '../call.ts';
import { DORMOUSE } from '../called.ts';
import { type Context, type Subject, command } from '../command.ts';
import { wrongUsage } from '../errors.ts';
import { memory, software } from '../format.ts';
import { onOff, wholeNumber } from '../parse.ts';
import { type Messages, SERVER, read } from '../shapes.ts';
import { didYouMean, nearest } from '../suggest.ts';
import { aligned } from '../table.ts';
import { oneLine } from '../text.ts';

const SETTINGS = {
  ...SERVER,
  plan: '',
  motd: '',
  idleTimeoutMinutes: 0,
  alertWebhookUrl: '',
  publicStatusEnabled: false as boolean,
  publicShowAddress: false as boolean,
  publicSlug: '',
  waitingRoom: false as boolean,
  clientVersions: '',
  modpackPlatform: '',
  modpackRef: '',
} satisfies Partial<Messages['Server']>;

const MOST_IDLE_MINUTES = 10_080;

/** The options of `settings set`. */
const OPTIONS = {
  name: { type: 'string', value: 'text', help: 'The name of the server.' },
  ram: { type: 'string', value: 'size', help: 'Memory: 512M, 2G. The server must be stopped.' },
  plan: { type: 'string', value: 'plan', help: 'metered or flat. The server must be stopped.' },
  motd: { type: 'string', value: 'text', help: "The line in Minecraft's server list." },
  idle: {
    type: 'string',
    value: 'minutes',
    help: "Minutes without players until the server sleeps. 0 = the service's default.",
  },
  webhook: {
    type: 'string',
    value: 'url',
    help: 'Webhook for alerts (Discord, Slack or any HTTPS URL). "" removes it.',
  },
  public: { type: 'string', value: 'on|off', help: 'Turn the public status page on or off.' },
  'show-address': { type: 'string', value: 'on|off', help: 'Show or hide the address on that page.' },
  'waiting-room': {
    type: 'string',
    value: 'on|off',
    help: 'Show the start progress to players who wake the server (1.21.6 and newer).',
  },
  clients: { type: 'string', value: 'which', help: 'Client versions that can join: auto, own or any.' },
} as const;

type Given = { [Name in keyof typeof OPTIONS]?: string };

const CLIENTS = ['auto', 'own', 'any'] as const;

async function settingsOf({ api }: Context, id: string): Promise<Messages['Server']> {
  return done(api.GET('/v1/servers/{id}', on(id)));
}

function shown(reply: Messages['Server']): string[] {
  const server = read(SETTINGS, reply, oneLine);
  const lines = Object.entries(reply.properties).map(([name, value]) => `${oneLine(name)}=${oneLine(value)}`);
  const facts = [
    ['name', server.name],
    ['software', software(server)],
    ['mod pack', server.modpackRef === '' ? '' : `${server.modpackRef} (${server.modpackPlatform})`],
    ['memory', memory(server.ramMb)],
    ['plan', server.plan],
    ['motd', server.motd],
    [
      'sleeps after',
      server.idleTimeoutMinutes === 0 ? "the service's default" : `${server.idleTimeoutMinutes} min without players`,
    ],
    ['waiting room', server.waitingRoom ? 'on' : ''],
    ['clients', server.clientVersions],
    ['public page', publicPage(server)],
    ['webhook', server.alertWebhookUrl === '' ? '' : 'set'],
    ...lines.map((line, index) => [index === 0 ? 'properties' : '', line]),
  ];
  return aligned(facts.filter(([, value]) => value !== ''));
}

function publicPage({ publicStatusEnabled, publicShowAddress, publicSlug }: typeof SETTINGS): string {
  if (!publicStatusEnabled) return '';
  return `/status/${publicSlug}${publicShowAddress ? ', with the address' : ''}`;
}

async function change(context: Context, id: string, given: Given): Promise<void> {
  const { api } = context;
  const { name, ram, plan, motd, webhook, clients } = given;
  const waitingRoom = given['waiting-room'];
  const clientVersions = CLIENTS.find((each) => each === clients);
  if (clients !== undefined && clientVersions === undefined) throw wrongUsage('--clients must be auto, own or any.');
  const update = {
    ...(name !== undefined && { name }),
    ...(ram !== undefined && { ramMb: ramMb(ram) }),
    ...(plan !== undefined && { plan }),
    ...(waitingRoom !== undefined && { waitingRoom: onOff(waitingRoom) }),
    ...(clientVersions && { clientVersions }),
  };
  const idleTimeoutMinutes = wholeNumber('idle', given.idle, MOST_IDLE_MINUTES);
  const enabled = given.public === undefined ? undefined : onOff(given.public);
  const showAddress = given['show-address'] === undefined ? undefined : onOff(given['show-address']);
  if (Object.keys(update).length > 0) await done(api.POST('/v1/servers/{id}:update', { ...on(id), body: update }));
  if (motd !== undefined) await done(api.POST('/v1/servers/{id}:setMotd', { ...on(id), body: { motd } }));
  if (idleTimeoutMinutes !== undefined)
    await done(api.POST('/v1/servers/{id}:setProperties', { ...on(id), body: { idleTimeoutMinutes } }));
  if (webhook !== undefined)
    await done(api.POST('/v1/servers/{id}:setAlertWebhook', { ...on(id), body: { url: webhook } }));
  if (enabled !== undefined || showAddress !== undefined) {
    // One call sets both, so the unnamed one keeps its current value.
    const before = read(SETTINGS, await settingsOf(context, id), oneLine);
    const body = {
      enabled: enabled ?? before.publicStatusEnabled,
      showAddress: showAddress ?? before.publicShowAddress,
    };
    await done(api.POST('/v1/servers/{id}:setPublicStatus', { ...on(id), body }));
  }
}

async function printAll(context: Context, id: string): Promise<void> {
  const reply = await settingsOf(context, id);
  if (context.json) return context.document(reply);
  for (const line of shown(reply)) context.terminal.out.line(line);
}

/** `dormouse settings`. */
export const settings: Subject = {
  name: 'settings',
  summary: "Show or change a server's settings: name, memory, plan, properties, idle time.",
  details: `Properties are the lines of server.properties. Changes apply at the next start.
Omitted properties do not change.

Examples: ${DORMOUSE} settings set castle difficulty=hard pvp=false
          ${DORMOUSE} settings set castle --ram 2G --idle 20
          ${DORMOUSE} settings unset castle difficulty`,
  commands: [
    command({
      name: 'settings show',
      summary: 'Show the settings.',
      args: ['id'],
      run: (context, [id = '']) => printAll(context, id),
    }),
    command({
      name: 'settings set',
      summary: 'Change properties (name=value) and other settings (options).',
      args: ['id', '[property=value...]'],
      options: OPTIONS,
      async run(context, [id = '', ...lines], values) {
        const set = properties(lines);
        if (lines.length === 0 && Object.keys(OPTIONS).every((name) => values[name as keyof Given] === undefined)) {
          throw wrongUsage(`Name a setting to change. See: ${DORMOUSE} help settings set`);
        }
        await change(context, id, values);
        if (lines.length > 0) {
          const before = await settingsOf(context, id);
          const body = { properties: { ...before.properties, ...set } };
          await done(context.api.POST('/v1/servers/{id}:setProperties', { ...on(id), body }));
        }
        await printAll(context, id);
      },
    }),
    command({
      name: 'settings unset',
      summary: "Reset properties to the game's defaults.",
      args: ['id', 'property...'],
      async run(context, [id = '', ...names]) {
        const before = (await settingsOf(context, id)).properties;
        const unknown = names.find((name) => !Object.hasOwn(before, name));
        if (unknown !== undefined) {
          const suggestion = didYouMean(nearest(unknown, Object.keys(before)));
          throw wrongUsage(`The property ${JSON.stringify(unknown)} is not set. ${suggestion}`.trimEnd());
        }
        const kept = Object.fromEntries(Object.entries(before).filter(([name]) => !names.includes(name)));
        await done(context.api.POST('/v1/servers/{id}:setProperties', { ...on(id), body: { properties: kept } }));
        await printAll(context, id);
      },
    }),
    call({
      name: 'settings test-webhook',
      summary: 'Send a test alert to the webhook.',
      args: ['id'],
      async call(context, [id = '']) {
        const { alertWebhookUrl: url } = await settingsOf(context, id);
        return context.api.POST('/v1/servers/{id}:setAlertWebhook', { ...on(id), body: { url, test: true } });
      },
      shape: SERVER,
      show: (_, { args: [id] }) => [`Sent a test alert to the webhook of ${id}.`],
    }),
    call({
      name: 'settings keep-awake',
      summary: 'Keep the server awake for a number of minutes, even without players. 0 cancels it.',
      args: ['id', 'minutes'],
      call: ({ api }, [id, minutes]) => {
        const body = { minutes: wholeNumber('minutes', minutes, 1440) ?? 0 };
        return api.POST('/v1/servers/{id}:keepAwake', { ...on(id), body });
      },
      shape: SERVER,
      show: (_, { args: [id, minutes] }) => [
        minutes === '0' ? `${id} sleeps again when it is empty.` : `${id} stays awake for at least ${minutes} min.`,
      ],
    }),
  ],
};

const MOST_RAM_MB = 2 ** 31 - 1;

/** Parses a size into MB: `512M`, `2G`, `2048`. Throws wrong usage. */
export function ramMb(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,7}(?:\.\d{1,3})?) ?([mg]?)(?:i?b)?$/i.exec(text) ?? [];
  const size = Math.round(Number(number) * (unit.toLowerCase() === 'g' ? 1024 : 1));
  if (number === '' || size < 1 || size > MOST_RAM_MB) throw wrongUsage('--ram must look like 512M, 2G or 2048 (MB).');
  return size;
}

const PLATFORMS = ['modrinth', 'curseforge', 'ftb'] as const;

/** Returns the modpack named by options; undefined if absent. Throws wrong usage. */
export function packOf(values: {
  pack?: string | undefined;
  'pack-platform'?: string | undefined;
  'pack-version'?: string | undefined;
}): { modpackPlatform: (typeof PLATFORMS)[number]; modpackRef: string; modpackVersion: string } | undefined {
  const { pack, 'pack-platform': platform, 'pack-version': version } = values;
  if (pack === undefined) {
    if (platform === undefined && version === undefined) return undefined;
    throw wrongUsage('--pack-platform and --pack-version require --pack.');
  }
  const modpackPlatform = PLATFORMS.find((each) => each === (platform ?? PLATFORMS[0]));
  if (modpackPlatform === undefined) throw wrongUsage(`--pack-platform must be one of ${PLATFORMS.join(', ')}.`);
  return { modpackPlatform, modpackRef: pack, modpackVersion: version ?? '' };
}

/** Parses lines like `difficulty=hard`. Throws wrong usage. */
export function properties(lines: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf('=');
      if (at < 1) throw wrongUsage(`--property must look like difficulty=hard, not ${JSON.stringify(line)}.`);
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
}
