import { JVM_PRESETS, type JvmPreset, MOST_JVM_CHARS } from '../../../engines/jvm-options.ts';
import { SANDBOX, isProxy, softwareName } from '../../../game/cores.ts';
import { parseProperties } from '../../../game/properties/format.ts';
import { PROPERTY_GROUPS, PROPERTY_HELP, type PropertyGroup } from '../../../game/properties/help.ts';
import { type Editable, editableProperties } from '../../../game/properties/table.ts';
import { decodeText } from '../../../kernel/decode-text.ts';
import { type Html, html } from '../../../web/html.ts';
import type { Page } from '../../../web/page-request.ts';
import { NO_PROSE } from '../../../web/form.ts';
import { type Filling, choiceField, filling, lineField, radioField } from '../../../web/panel/fields.ts';
import { panelForm } from '../../../web/panel/form.ts';
import type { Panel, ServerRequest } from '../../../web/panel/panel.ts';
import type { Form } from '../../../web/serve.ts';
import { MOST_AWAKE_CHARS } from '../../awake-hours.ts';
import { unlessRefused } from '../parts.ts';
import { SAVED, settingsPage } from './frame.ts';
import { ReadFile } from '../../../files/api.ts';
import { SetServerProperties } from '../../api/settings.ts';
import { UpdateServer } from '../../api/update-server.ts';

/** The game's own settings and the idle time. */
export function mountGameSettings(panel: Panel, settings: { idleTimeoutMinutes: number }): void {
  panel.serverPage({
    path: '/settings/game',
    show: (request) => gamePage(request, settings.idleTimeoutMinutes),
    forms: {
      async idle({ call, server: { id } }, form) {
        const texts = (['awakeHours', 'awakeTimeZone', 'ignoredPlayers'] as const).flatMap((name) => {
          const value = form.get(name);
          return value === null ? [] : [[name, value] as const];
        });
        const idleTimeoutMinutes = Number(form.get('idleTimeoutMinutes'));
        await call(SetServerProperties, { id }, { idleTimeoutMinutes, ...Object.fromEntries(texts) });
        return 'saved';
      },
      async properties(request, form) {
        const { call, server } = request;
        await call(SetServerProperties, { id: server.id }, { properties: propertiesIn(server, form) });
        return 'saved';
      },
      async java({ call, server: { id } }, form) {
        const jvmPreset = JVM_PRESETS.find((preset) => preset === form.get('jvmPreset'));
        await call(UpdateServer, { id }, { jvmOptions: form.get('jvmOptions') ?? '', ...(jvmPreset && { jvmPreset }) });
        return 'saved';
      },
    },
    done: SAVED,
  });
}

type Server = ServerRequest['server'];

/** Properties with a page of their own, left unchanged here. */
const ELSEWHERE = new Set(['white-list', 'level-name']);

async function gamePage(request: ServerRequest, idleTimeoutMinutes: number): Promise<Page> {
  if (isProxy(request.server.type)) {
    const cards = html`${idleCard(request, idleTimeoutMinutes)}
      <section class="card">
        <h2>Game settings</h2>
        <p>
          ${softwareName(request.server.type)} has no <code>server.properties</code>. Its settings are in
          <a href="/servers/${request.server.id}/files">velocity.toml</a>, once it has started.
        </p>
      </section>
      ${javaCard(request)}`;
    return settingsPage(request, 'Game settings', cards);
  }
  const now = await fileNow(request);
  const filled = filling(request, 'properties');
  const groups = Object.groupBy(shownOf(request.server), ({ name }) => PROPERTY_HELP[name]?.group ?? 'rest');
  const fields = (group: PropertyGroup) =>
    (groups[group] ?? []).map((each) => propertyField(filled, each, request.server.properties[each.name] ?? '', now));
  const cards = html`${idleCard(request, idleTimeoutMinutes)}
    <section class="card">
      <h2>Game settings</h2>
      <p>
        The file <code>server.properties</code>: what Minecraft ${request.server.version} supports. Unset values use the
        game’s default. Applies after a restart.
      </p>
      ${panelForm(
        request,
        'properties',
        html`${PROPERTY_GROUPS.filter((group) => groups[group]).map(
            (group) =>
              html`<details ${(group === 'play' || hasWrong(filled, groups[group])) && html`open`}>
                <summary>${HEADINGS[group]}</summary>
                <div class="side even">${fields(group)}</div>
              </details>`,
          )} <button type="submit">Save the game settings</button>`,
      )}
    </section>
    ${request.server.type !== SANDBOX && javaCard(request)}`;
  return settingsPage(request, 'Game settings', cards);
}

const HEADINGS: Record<PropertyGroup, string> = {
  play: 'Gameplay',
  world: 'World',
  players: 'Players',
  pack: 'Resource pack',
  speed: 'Distance and speed',
  rest: 'Other',
};

const MOST_IDLE_MINUTES = 10_080;

function idleCard(request: ServerRequest, ofAll: number): Html {
  const filled = filling(request, 'idle');
  const { awakeHours, awakeTimeZone, ignoredPlayers } = request.server;
  const minutes = {
    name: 'idleTimeoutMinutes',
    label: 'Minutes without players',
    hint: `0 = default (${ofAll}). -1 = never. At most ${MOST_IDLE_MINUTES} (one week).`,
    value: String(request.server.idleTimeoutMinutes),
    type: 'number' as const,
    maxlength: 5,
    more: html`min="-1" max="${MOST_IDLE_MINUTES}"`,
  };
  return html`<section class="card">
    <h2>Automatic sleep</h2>
    <p>How long the server stays awake after the last player leaves.</p>
    ${panelForm(
      request,
      'idle',
      html`${lineField(filled, minutes)}
        <div class="side even">
          ${lineField(filled, {
            name: 'awakeHours',
            label: 'Awake hours',
            hint: 'Keeps the server awake without players, such as Fri-Sun 18-24, Mon 8:30-10. Does not start it.',
            value: awakeHours,
            maxlength: MOST_AWAKE_CHARS,
            required: false,
            more: NO_PROSE,
          })}
          ${lineField(filled, {
            name: 'awakeTimeZone',
            label: 'Time zone of these hours',
            hint: 'Such as Europe/Berlin. Empty = UTC.',
            value: awakeTimeZone,
            maxlength: 64,
            required: false,
            more: NO_PROSE,
          })}
        </div>
        ${lineField(filled, {
          name: 'ignoredPlayers',
          label: 'Players who don’t count',
          hint: 'Names of a plugin’s fake players, separated by commas. NPC_* ignores all that begin so.',
          value: ignoredPlayers,
          maxlength: 400,
          required: false,
          more: NO_PROSE,
        })}<button type="submit">Save</button>`,
    )}
  </section>`;
}

const PRESETS: Record<JvmPreset, string> = {
  default: 'Default: what this version of Java chooses',
  aikar: 'Aikar’s flags: shorter pauses on servers with many players, from about 4 GB of RAM',
  zgc: 'ZGC: almost no pauses, for more memory and CPU. Java 15 or newer; 21 or newer is best',
};

function javaCard(request: ServerRequest): Html {
  const filled = filling(request, 'java');
  return html`<section class="card">
    <h2>Java</h2>
    <p>How Java runs the game. Applies after a restart. The defaults are right for most servers.</p>
    ${panelForm(
      request,
      'java',
      html`${radioField(filled, {
          name: 'jvmPreset',
          label: 'Garbage collection',
          value: request.server.jvmPreset,
          options: JVM_PRESETS.map((preset) => [preset, PRESETS[preset]] as const),
        })}
        ${lineField(filled, {
          name: 'jvmOptions',
          label: 'Further options',
          hint: 'For example -XX:MaxGCPauseMillis=100. No options for memory, files, agents or debug ports.',
          value: request.server.jvmOptions,
          maxlength: MOST_JVM_CHARS,
          required: false,
          more: NO_PROSE,
        })}<button type="submit">Save the options for Java</button>`,
    )}
  </section>`;
}

function propertyField(
  filled: Filling,
  { name, values, range }: Editable,
  value: string,
  now: ReadonlyMap<string, string>,
): Html {
  const { text = '', usual } = PROPERTY_HELP[name] ?? {};
  // The file's value if the owner set none. A game that has never run has no file.
  const open = now.get(name) ?? usual;
  const field = {
    name: `properties.${name}`,
    label: html`<code>${name}</code>`,
    hint: range === undefined ? text : `${text} From ${range[0]} to ${range[1]}.`,
    value,
  };
  if (values !== undefined) {
    // Numbers are synonyms of words, from old files.
    const named = values.filter((each) => !/^\d$/.test(each) || each === value);
    const none = ['', open === undefined ? 'Default' : `Default (${open})`] as const;
    return choiceField(filled, { ...field, options: [none, ...named.map((each) => [each, each] as const)] });
  }
  const more = open === undefined || open === '' ? html`` : html`placeholder="${open}"`;
  return lineField(filled, {
    ...field,
    maxlength: 4_096,
    required: false,
    more: html`${more} ${range !== undefined && html`inputmode="numeric"`} spellcheck="false"`,
  });
}

function hasWrong(filled: Filling, properties: readonly Editable[] = []): boolean {
  return properties.some(({ name }) => filled.wrong(`properties.${name}`) !== undefined);
}

/** The order of PROPERTY_HELP: most used first. */
const ORDER = Object.keys(PROPERTY_HELP);

function shownOf({ type, version }: Server): Editable[] {
  return editableProperties(type === SANDBOX ? '' : version)
    .filter(({ name }) => !ELSEWHERE.has(name))
    .sort((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name));
}

/** Returns all filled-in properties and those set on other pages, because the operation replaces the whole set. */
function propertiesIn(server: Server, form: Form): Record<string, string> {
  const kept = Object.entries(server.properties).filter(([name]) => ELSEWHERE.has(name));
  const set = shownOf(server).map(({ name }) => [name, (form.get(`properties.${name}`) ?? '').trim()] as const);
  return Object.fromEntries([...kept, ...set.filter(([, value]) => value !== '')]);
}

/** Returns the file's values; none if the file is missing or unreadable. */
async function fileNow({ call, server: { id } }: ServerRequest): Promise<ReadonlyMap<string, string>> {
  const file = await unlessRefused(call(ReadFile, { id }, { path: 'server.properties' }), undefined);
  return file ? parseProperties(decodeText(Buffer.from(file.content, 'base64'))) : new Map();
}
