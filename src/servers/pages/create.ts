import { type Offers, offersTo, sizeOptions, sizeWithin, sizesBetween, tiles } from './choices.ts';
import { platformName } from '../../game/modpack-env.ts';
import { MOD_LOADERS, aboutSoftware, isProxy, softwareName } from '../../game/cores.ts';
import { confirmed } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import type { Page } from '../../web/page-request.ts';
import { type Filling, choiceField, filling, lineField } from '../../web/panel/fields.ts';
import { buttonForm, panelForm } from '../../web/panel/form.ts';
import type { Outcome, Panel, PanelRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';
import { PLATFORMS } from '../api/fields.ts';
import { agreeToEula, eulaTick, lacksEula } from './parts.ts';
import { GetSpendCap } from '../../billing/api.ts';
import { CreateServer } from '../api/create-server.ts';
import { CreateServerFromTemplate, DeleteTemplate } from '../../templates/api.ts';

type Template = Offers['templates'][number];

/** Least RAM offered here. The settings allow less. */
const LEAST_MB = 512;
const DEFAULT_RAM_MB = { sandbox: 512, proxy: 1_024, plain: 4_096, mods: 6_144 };

/**
 * The page that creates a server from a template or from software. Both are links, because they determine versions and
 * RAM.
 */
export function mountCreate(panel: Panel): void {
  panel.page({
    path: '/servers/new',
    show: createPage,
    forms: {
      create,
      async forget({ call }, form) {
        await call(DeleteTemplate, { templateId: form.get('template') ?? '' });
        return { to: '/servers/new?done=forgotten' };
      },
    },
    done: { forgotten: 'Template deleted. Servers created from it stay as they are.' },
  });
}

/** The page's inputs. */
interface Asked {
  template: Template | undefined;
  software: string;
  versions: readonly string[];
}

async function createPage(request: PanelRequest): Promise<Page> {
  const { accountId } = request.principal;
  const [{ templates, cores, mostMb }, prices] = await Promise.all([
    offersTo(request),
    request.call(GetSpendCap, { accountId }),
  ]);
  // Defaults to the first template.
  const template = request.query.has('software')
    ? undefined
    : (templates.find(({ id }) => id === request.query.get('template')) ?? templates[0]);
  const wanted = template?.serverType ?? request.query.get('software') ?? '';
  const core = cores.find(({ type }) => type === wanted) ?? cores[0];
  const { type: software = '', versions = [], unavailable = '' } = core ?? {};
  const choices = { template, software, versions };
  const mustAgree = await lacksEula(request.call, accountId, choices.software);
  const filled = filling(request, 'create');
  const chosen = new URLSearchParams(template ? { template: template.id } : { software: choices.software });
  const main = html`<div class="head">
      <h1>New server</h1>
      <a class="button second" href="/servers/new/import">From files</a>
    </div>
    <section class="card">
      <h2>What to play</h2>
      ${tiles(
        templates.map(({ id, name, description }) => ({
          name,
          about: description,
          href: pathOf({ template: id }),
          here: id === template?.id,
        })),
        'Templates',
      )}
      <details ${!template && html`open`}>
        <summary>Or choose the software</summary>
        ${tiles(
          cores.map(({ type, unavailable: mustUpload }) => ({
            name: softwareName(type),
            about: mustUpload === '' ? aboutSoftware(type) : `${aboutSoftware(type)} You upload its server.jar.`,
            href: pathOf({ software: type }),
            here: !template && type === choices.software,
          })),
          'Software',
        )}
        ${
          request.principal.operator &&
          cores.every(({ type }) => type === 'sandbox') &&
          html`<p class="hint">Other software can't run on this machine yet. The service log shows how to fix it.</p>`
        }
      </details>
    </section>
    <section class="card" id="make">
      <h2>${template?.name ?? softwareName(choices.software)}</h2>
      <p>${template?.description ?? aboutSoftware(choices.software)}</p>
      ${unavailable !== '' && html`<p class="note warn">${unavailable}</p>`}
      ${panelForm(
        { ...request, query: chosen },
        'create',
        html`${lineField(filled, { name: 'name', label: 'Name', maxlength: 64, hint: 'Shown to players. We also use it for the address.' })}
          ${versionField(filled, choices)}
          ${ramField(filled, choices, { mostMb, perGbHourMicros: Number(prices.perGbHourMicros) })}
          ${!template && MOD_LOADERS.includes(choices.software) && packFields(filled)} ${mustAgree && eulaTick(filled)}
          <p class="actions"><button type="submit">Create server</button></p>
          <p class="hint">Free until someone joins or you start it.</p>`,
      )}
      ${template?.builtIn === false && deletion(request, template)}
    </section>`;
  return { title: 'New server', main };
}

function deletion(request: PanelRequest, { id, name }: Template): Html {
  return confirmed(
    'Servers created from it stay as they are.',
    'Delete this template…',
    name,
    buttonForm(request, 'forget', 'Yes, delete the template', { fields: { template: id }, variant: 'danger' }),
  );
}

/** Returns the page's path with another template or software. */
function pathOf(query: Record<string, string>): string {
  return `/servers/new?${new URLSearchParams(query).toString()}#make`;
}

function versionField(filled: Filling, { template, software, versions }: Asked): Html {
  if (template && template.modpack.platform !== '') return html`<p class="hint">Set by the mod pack.</p>`;
  return choiceField(filled, {
    name: 'version',
    label: 'Version',
    hint: isProxy(software) ? 'Of the proxy itself.' : 'Must match your players’ Minecraft version.',
    value: template?.version ?? versions[0] ?? '',
    options: versions.map((version) => [version, version]),
  });
}

function ramField(
  filled: Filling,
  { template, software }: Asked,
  { mostMb, perGbHourMicros }: { mostMb: number; perGbHourMicros: number },
): Html {
  const game = MOD_LOADERS.includes(software) ? 'mods' : 'plain';
  const kind = software === 'sandbox' ? 'sandbox' : isProxy(software) ? 'proxy' : game;
  const usual = template?.ramMb ?? DEFAULT_RAM_MB[kind];
  const sizes = [...new Set([...sizesBetween(LEAST_MB, mostMb), usual])]
    .toSorted((a, b) => a - b)
    .filter((mb) => mb <= mostMb);
  return choiceField(filled, {
    name: 'ramMb',
    label: 'RAM',
    hint: `${perGbHourMicros > 0 ? 'Price per hour while running. ' : ''}You can change this later.`,
    value: String(sizeWithin(mostMb, usual)),
    options: sizeOptions(sizes, perGbHourMicros),
  });
}

function packFields(filled: Filling): Html {
  const typed = filled.value('modpackRef', '') !== '';
  return html`<details ${typed && html`open`}>
    <summary>With a mod pack</summary>
    ${choiceField(filled, {
      name: 'modpackPlatform',
      label: 'From',
      value: 'modrinth',
      options: PLATFORMS.map((platform) => [platform, platformName(platform)]),
    })}
    ${lineField(filled, {
      name: 'modpackRef',
      label: 'Pack',
      hint: 'The id or short name from its page’s address. The pack sets the Minecraft version.',
      maxlength: 128,
      required: false,
    })}
  </details>`;
}

async function create({ call, query, principal }: PanelRequest, form: Form): Promise<Outcome> {
  if (form.has('eula')) await agreeToEula(call, principal.accountId);
  const name = form.get('name') ?? '';
  const version = form.get('version') ?? '';
  const ramMb = Number(form.get('ramMb') ?? '');
  const templateId = query.get('template');
  if (templateId !== null) {
    const { id } = await call(CreateServerFromTemplate, { templateId }, { name, overrides: { version, ramMb } });
    return { to: `/servers/${id}` };
  }
  const modpackRef = (form.get('modpackRef') ?? '').trim();
  const pack = { modpackRef, modpackPlatform: form.get('modpackPlatform') ?? '', version: '' };
  const type = query.get('software') ?? 'sandbox';
  const { id } = await call(CreateServer, {}, { name, type, version, ramMb, ...(modpackRef !== '' && pack) });
  return { to: `/servers/${id}` };
}
