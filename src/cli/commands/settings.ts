import { done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Context, STOP_FIRST, type Subject, call, command, on, option } from '../command.ts';
import { wrongUsage } from '../errors.ts';
import { aligned, memory, software } from '../format.ts';
import { given, onOff, oneOf, wholeNumber } from '../parse.ts';
import { type Messages, SERVER, read } from '../shapes.ts';
import { suggest } from '../suggest.ts';
import { oneLine } from '../text.ts';

const SETTINGS = {
  ...SERVER,
  plan: '',
  motd: '',
  idleTimeoutMinutes: 0,
  awakeHours: '',
  awakeTimeZone: '',
  ignoredPlayers: '',
  tags: [''],
  alertWebhookUrl: '',
  publicStatusEnabled: false as boolean,
  publicShowAddress: false as boolean,
  publicSlug: '',
  waitingRoom: false as boolean,
  clientVersions: '',
  jvmPreset: '',
  jvmOptions: '',
  builds: '',
  modpackPlatform: '',
  modpackRef: '',
} satisfies Partial<Messages['Server']>;

const MOST_IDLE_MINUTES = 10_080;

/** The options of `settings set`. */
const OPTIONS = {
  name: option('text', 'The name of the server.'),
  tags: option('words', 'Words to find it by: "survival,friends". "" removes them.'),
  ram: option('size', 'Memory: 512M, 2G. The server must be stopped, or --stop.'),
  plan: option('plan', 'metered or flat. The server must be stopped, or --stop.'),
  motd: option('text', "The line in Minecraft's server list."),
  idle: option('minutes', "Minutes without players until the server sleeps, or never. 0 = the service's default."),
  'awake-hours': option('hours', 'When it stays awake without players: "Fri-Sun 18-24". "" removes them.'),
  'awake-time-zone': option('zone', 'The IANA time zone of these hours: Europe/Berlin. "" = UTC.'),
  'ignore-players': option('names', 'Players that do not keep it awake: "NPC_*,Camera". "" removes them.'),
  webhook: option('url', 'Webhook for alerts (Discord, Slack or any HTTPS URL). "" removes it.'),
  public: option('on|off', 'Turn the public status page on or off.'),
  'show-address': option('on|off', 'Show or hide the address on that page.'),
  'waiting-room': option('on|off', 'Show the start progress to players who wake the server (1.21.6 and newer).'),
  clients: option('which', 'Client versions that can join: auto, own or any.'),
  jvm: option('preset', 'How Java runs the game: default, aikar or zgc.'),
  builds: option('which', 'Builds of the core: pinned, or latest-when-asleep to update while it sleeps.'),
  'jvm-options': option('options', 'Further options for Java, in quotes. "" removes them.'),
} as const;

type Given = { [Name in keyof typeof OPTIONS]?: string };

async function settingsOf({ api }: Context, id: string): Promise<Messages['Server']> {
  return done(api.GET('/v1/servers/{id}', on(id)));
}

function shown(reply: Messages['Server']): string[] {
  const server = read(SETTINGS, reply, oneLine);
  const lines = Object.entries(reply.properties).map(([name, value]) => `${oneLine(name)}=${oneLine(value)}`);
  const facts = [
    ['name', server.name],
    ['tags', server.tags.join(', ')],
    ['software', software(server)],
    ['mod pack', server.modpackRef === '' ? '' : `${server.modpackRef} (${server.modpackPlatform})`],
    ['memory', memory(server.ramMb)],
    ['plan', server.plan],
    ['motd', server.motd],
    [
      'sleeps after',
      server.idleTimeoutMinutes < 0
        ? 'never'
        : server.idleTimeoutMinutes === 0
          ? "the service's default"
          : `${server.idleTimeoutMinutes} min without players`,
    ],
    ['awake hours', server.awakeHours === '' ? '' : `${server.awakeHours} ${server.awakeTimeZone}`],
    ['ignored players', server.ignoredPlayers],
    ['waiting room', server.waitingRoom ? 'on' : ''],
    ['clients', server.clientVersions],
    ['builds', server.builds],
    ['java', [server.jvmPreset, server.jvmOptions].join(' ').trim()],
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

function onOffOption(text: string | undefined): boolean | undefined {
  return text === undefined ? undefined : onOff(text);
}

async function change(context: Context, id: string, values: Given, stopFirst: boolean): Promise<void> {
  const { api, slow } = context;
  const { name, ram, plan, motd, webhook, clients, jvm, builds } = values;
  const buildsMessage = '--builds must be pinned or latest-when-asleep.';
  const clientsMessage = '--clients must be auto, own or any.';
  const jvmMessage = '--jvm must be default, aikar or zgc.';
  const update = given({
    name,
    tags: values.tags?.split(',').filter((tag) => tag.trim() !== ''),
    plan,
    ramMb: ram === undefined ? undefined : ramMb(ram),
    waitingRoom: onOffOption(values['waiting-room']),
    clientVersions: clients === undefined ? undefined : oneOf(['auto', 'own', 'any'], clients, clientsMessage),
    jvmPreset: jvm === undefined ? undefined : oneOf(['default', 'aikar', 'zgc'], jvm, jvmMessage),
    jvmOptions: values['jvm-options'],
    builds: builds === undefined ? undefined : oneOf(['pinned', 'latest-when-asleep'], builds, buildsMessage),
  });
  const sleep = given({
    idleTimeoutMinutes: values.idle === 'never' ? -1 : wholeNumber('idle', values.idle, MOST_IDLE_MINUTES),
    awakeHours: values['awake-hours'],
    awakeTimeZone: values['awake-time-zone'],
    ignoredPlayers: values['ignore-players'],
  });
  const enabled = onOffOption(values.public);
  const showAddress = onOffOption(values['show-address']);
  if (Object.keys(update).length > 0) {
    await done(slow.POST('/v1/servers/{id}:update', { ...on(id), body: { ...update, stopFirst } }));
  }
  if (motd !== undefined) await done(api.POST('/v1/servers/{id}:setMotd', { ...on(id), body: { motd } }));
  if (Object.keys(sleep).length > 0) await done(api.POST('/v1/servers/{id}:setProperties', { ...on(id), body: sleep }));
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
      usage: 'settings show <id>',
      summary: 'Show the settings.',
      run: (context, [id = '']) => printAll(context, id),
    }),
    command({
      usage: 'settings set <id> [property=value...]',
      summary: 'Change properties (name=value) and other settings (options).',
      options: { ...OPTIONS, stop: STOP_FIRST },
      async run(context, [id = '', ...lines], { stop = false, ...values }) {
        const set = properties(lines);
        if (lines.length === 0 && Object.keys(OPTIONS).every((name) => values[name as keyof Given] === undefined)) {
          throw wrongUsage(`Name a setting to change. See: ${DORMOUSE} help settings set`);
        }
        await change(context, id, values, stop);
        if (lines.length > 0) {
          const before = await settingsOf(context, id);
          const body = { properties: { ...before.properties, ...set } };
          await done(context.api.POST('/v1/servers/{id}:setProperties', { ...on(id), body }));
        }
        await printAll(context, id);
      },
    }),
    command({
      usage: 'settings unset <id> <property...>',
      summary: "Reset properties to the game's defaults.",
      async run(context, [id = '', ...names]) {
        const before = (await settingsOf(context, id)).properties;
        const unknown = names.find((name) => !Object.hasOwn(before, name));
        if (unknown !== undefined) {
          const suggestion = suggest(unknown, Object.keys(before));
          throw wrongUsage(`The property ${JSON.stringify(unknown)} is not set. ${suggestion}`.trimEnd());
        }
        const kept = Object.fromEntries(Object.entries(before).filter(([name]) => !names.includes(name)));
        await done(context.api.POST('/v1/servers/{id}:setProperties', { ...on(id), body: { properties: kept } }));
        await printAll(context, id);
      },
    }),
    call({
      usage: 'settings test-webhook <id>',
      summary: 'Send a test alert to the webhook.',
      async call(context, [id = '']) {
        const { alertWebhookUrl: url } = await settingsOf(context, id);
        return context.api.POST('/v1/servers/{id}:setAlertWebhook', { ...on(id), body: { url, test: true } });
      },
      shape: SERVER,
      show: (_, { args: [id] }) => [`Sent a test alert to the webhook of ${id}.`],
    }),
    call({
      usage: 'settings keep-awake <id> <minutes>',
      summary: 'Keep the server awake for a number of minutes, even without players. 0 cancels it.',
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
/** Numbers below this without a unit are meant as GB: no game runs in so few MB. */
const LEAST_MB_WITHOUT_UNIT = 64;

/** Parses a size into MB: `512M`, `2G`, `2048`. Throws wrong usage, also for `2`. */
export function ramMb(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,7}(?:\.\d{1,3})?) ?([mg]?)(?:i?b)?$/i.exec(text) ?? [];
  const size = Math.round(Number(number) * (unit.toLowerCase() === 'g' ? 1024 : 1));
  if (number === '' || size < 1 || size > MOST_RAM_MB) throw wrongUsage('--ram must look like 512M, 2G or 2048 (MB).');
  if (unit === '' && size < LEAST_MB_WITHOUT_UNIT)
    throw wrongUsage(`--ram ${text} means ${text} MB. For GB, write --ram ${text}G.`);
  return size;
}

const PLATFORMS = ['modrinth', 'curseforge', 'ftb'] as const;

/** Returns the modpack named by options; undefined if absent. Throws wrong usage. */
export function packOf(pack: string | undefined, platform: string | undefined, version: string | undefined) {
  if (pack === undefined) {
    if (platform === undefined && version === undefined) return undefined;
    throw wrongUsage('--pack-platform and --pack-version require --pack.');
  }
  const message = `--pack-platform must be one of ${PLATFORMS.join(', ')}.`;
  return {
    modpackPlatform: oneOf(PLATFORMS, platform ?? PLATFORMS[0], message),
    modpackRef: pack,
    modpackVersion: version ?? '',
  };
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
