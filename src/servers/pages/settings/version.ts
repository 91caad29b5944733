import type { Builds } from '../../rows.ts';
import { tiles } from '../choices.ts';
import { WENT_BACK, coreText, goBack, wayBack } from '../way-back.ts';
import {
  SANDBOX,
  aboutSoftware,
  coreOf,
  isProxy,
  missingCore,
  softwareName,
  softwareText,
} from '../../../game/cores.ts';
import { sandboxVersions } from '../../../engines/sandbox.ts';
import { coresFor, ListMinecraftVersions } from '../../../game/catalogue/api.ts';
import { compareVersions } from '../../../game/minecraft-version.ts';
import { confirmed, hidden } from '../../../web/form.ts';
import { type Html, html } from '../../../web/html.ts';
import type { Page } from '../../../web/page-request.ts';
import { choiceField, filling, radioField } from '../../../web/panel/fields.ts';
import { inShort } from '../../../web/panel/in-short.ts';
import { panelForm } from '../../../web/panel/form.ts';
import type { Panel, ServerRequest } from '../../../web/panel/panel.ts';
import { SAVED, changeButton, restNote, settingsPage } from './frame.ts';
import { stopsFirst, unlessRefused } from '../parts.ts';
import { UpdateServer } from '../../api/update-server.ts';
import { UpdateServerVersion } from '../../api/update-version.ts';

/** Settings of the server software and its version. A choice is shown with its effects before it is confirmed. */
export function mountVersionSettings(panel: Panel): void {
  panel.serverPage({
    path: '/settings/version',
    show: versionPage,
    forms: {
      async change({ call, server: { id }, here }, form) {
        const wanted = { type: form.get('type') ?? '', version: form.get('version') ?? '', ...stopsFirst(form) };
        const done = await inShort(call(UpdateServerVersion, { id }, wanted), 'changed', 'changing');
        return { to: `${here}?done=${done}` };
      },
      back: goBack,
      async builds({ call, server: { id } }, form) {
        await call(UpdateServer, { id }, { builds: form.get('builds') as Builds });
        return 'saved';
      },
    },
    done: {
      ...SAVED,
      ...WENT_BACK,
      changed: 'Changed. The next start downloads it.',
      changing: 'Backing up your world. Then the version changes.',
    },
  });
}

async function versionPage(request: ServerRequest): Promise<Page> {
  const { server } = request;
  const cards = server.modpackPlatform === '' ? await choiceCards(request) : packCard(server);
  return settingsPage(request, 'Version', cards);
}

function packCard(server: ServerRequest['server']): Html {
  return html`<section class="card">
    <h2>Software and version</h2>
    <p>Now <b>${softwareText(server)}</b>. The mod pack sets it: change the pack under Mods instead.</p>
  </section>`;
}

async function choiceCards(request: ServerRequest): Promise<Html> {
  const { call, server, query, here, role } = request;
  const { cores, versions: releases } = await call(ListMinecraftVersions, {});
  const wanted = { type: query.get('type') ?? server.type, version: query.get('version') ?? server.version };
  // Availability depends on the owner's account, which members cannot see.
  const offered = offersFor(server, role === 'owner' ? cores : coresFor(releases));
  const { type, versions } = offered.find((each) => each.type === wanted.type) ?? offered[0];
  const filled = filling(request, '');
  return html`${updateCard(request)}
    <section class="card">
      <h2>Software and version</h2>
      <p>Now <b>${softwareText(server)}</b>. You’ll review the effects first.</p>
      <details ${type !== server.type && html`open`}>
        <summary>Choose other software</summary>
        ${tiles(
          offered.map((each) => ({
            href: `${here}?type=${each.type}#choose`,
            name: softwareName(each.type),
            about: aboutSoftware(each.type),
            here: each.type === type,
          })),
          'Software',
        )}
      </details>
      <form id="choose" method="get" action="${here}#change">
        ${hidden('type', type)}
        <div class="side">
          ${choiceField(filled, {
            name: 'version',
            label: `Version of ${softwareName(type)}`,
            value: versions.includes(wanted.version) ? wanted.version : (versions[0] ?? ''),
            options: versions.map((each) => [each, each]),
          })}
          <button class="second" type="submit">Review change</button>
        </div>
      </form>
    </section>
    ${query.has('version') && (await changeCard(request, wanted, offered))} ${buildsCard(request)}`;
}

/** Shows an update that no run has confirmed yet, and the way back. */
function updateCard(request: ServerRequest): Html | undefined {
  const { update } = request.server;
  if (update === null) return undefined;
  const { from, to, modsWithoutVersion } = update;
  return html`<section class="card">
    <h2>The last update</h2>
    <p>From ${coreText(from)} to <b>${coreText(to)}</b>. It counts as done once a run of it has ended normally.</p>
    ${modsWithoutVersion.length > 0 && html`<p class="note warn">${missingMods(to, modsWithoutVersion)}</p>`}
    ${wayBack(request)}
  </section>`;
}

/** Chooses between the present build and automatic updates; undefined for software without builds. */
function buildsCard(request: ServerRequest): Html | undefined {
  const { type, builds, refusedBuild } = request.server;
  if (coreOf(type)?.pin === undefined) return undefined;
  return html`<section class="card">
    <h2>Builds</h2>
    <p>Projects often publish new builds of ${softwareName(type)} for the same version.</p>
    ${
      refusedBuild !== '' &&
      html`<p class="note warn">
        Build ${refusedBuild} failed to start, so the server runs the build before it again.
      </p>`
    }
    ${panelForm(
      request,
      'builds',
      html`${radioField(filling(request, 'builds'), {
          name: 'builds',
          label: 'Newer builds',
          value: builds,
          options: [
            ['pinned', 'Keep the build until you update it.'],
            [
              'latest-when-asleep',
              html`Update while the server sleeps.<small
                  >If a start with the new build fails, the server returns to the build before it.</small
                >`,
            ],
          ],
        })}<button type="submit">Save</button>`,
    )}
  </section>`;
}

function missingMods(to: Software, names: readonly string[]): string {
  return `No version for ${softwareText(to)} yet: ${names.join(', ')}.`;
}

/**
 * Returns the present software first, always including the present version, then all other software, each with its
 * versions.
 */
function offersFor({ type, version }: Software, cores: readonly Offer[]): [Offer, ...Offer[]] {
  const present = cores.find((each) => each.type === type)?.versions ?? [];
  const versions = [...new Set([...present, version])].toSorted((a, b) => compareVersions(b, a) ?? 0);
  return [{ type, versions }, ...cores.filter((each) => each.type !== type)];
}

/** Software that can run here, with its versions, newest first. */
interface Offer {
  type: string;
  versions: readonly string[];
}

interface Software {
  type: string;
  version: string;
}

async function changeCard(request: ServerRequest, wanted: Software, offered: readonly Offer[]): Promise<Html> {
  const { call, server } = request;
  const isSame = wanted.type === server.type && wanted.version === server.version;
  const missing = missingFor(wanted, offered);
  const plan = missing === undefined ? await planOf(call, server.id, wanted) : undefined;
  const [from, to] = [softwareText(server), softwareText(wanted)];
  const button = isSame ? `Update to the newest build of ${to}` : `Change to ${to}`;
  return html`<section class="card" id="change">
    <h2>${isSame ? html`${to} (newest build)` : html`From ${from} to ${to}`}</h2>
    ${wanted.type !== server.type && html`<p>${aboutSoftware(wanted.type)}</p>`}
    ${missing !== undefined && html`<p class="note bad">${missing}.</p>`}
    <ul>
      ${[...whatFollows(server, wanted), ...planText(plan)].map((each) => html`<li>${each}</li>`)}
    </ul>
    ${
      missing === undefined &&
      confirmed(
        'Change it? We back up your server first. If the next start fails, you can go back.',
        changeButton(request, button),
        '',
        panelForm(
          request,
          'change',
          html`${hidden('type', wanted.type)}${hidden('version', wanted.version)}${restNote(request)}<button
              class="danger"
              type="submit"
            >
              Yes, change it
            </button>`,
        ),
      )
    }
  </section>`;
}

/** Returns what the change means; undefined if it would be refused. The form shows why. */
async function planOf(call: ServerRequest['call'], id: string, { type, version }: Software) {
  const reply = await unlessRefused(call(UpdateServerVersion, { id }, { type, version, dryRun: true }), undefined);
  return reply?.update ?? undefined;
}

/** Returns the change of the build, and the mods that do not follow. */
function planText(plan: Awaited<ReturnType<typeof planOf>>): string[] {
  if (plan === undefined) return [];
  const { from, to, modsWithoutVersion } = plan;
  return [
    ...(to.build !== '' ? [`Build: ${from.build === '' ? '' : `from ${from.build} `}to ${to.build}.`] : []),
    ...(modsWithoutVersion.length > 0 ? [missingMods(to, modsWithoutVersion)] : []),
  ];
}

/** Returns why the software is unavailable; undefined if it is available. */
function missingFor(wanted: Software, offered: readonly Offer[]): string | undefined {
  if (wanted.type === SANDBOX && !sandboxVersions().includes(wanted.version))
    return `The sandbox has no ${wanted.version}`;
  const isOffered = offered.some(({ type }) => type === wanted.type);
  return missingCore(wanted) ?? (isOffered ? undefined : `${softwareName(wanted.type)} can’t run here`);
}

/** Returns the effects on worlds and mods in plain words. */
function whatFollows(from: Software, to: Software): string[] {
  // Only worlds depend on the order of versions.
  const order = isProxy(to.type) ? 0 : (compareVersions(to.version, from.version) ?? 0);
  const isOther = to.type !== from.type;
  return [
    'The next start downloads the software and takes longer than usual.',
    ...(order > 0 ? ['That start upgrades the world permanently. Older versions can’t read it afterwards.'] : []),
    ...(order < 0
      ? ['This is an older version. It may fail to read the world or drop content it doesn’t support.']
      : []),
    ...(isOther ? ['Mods and plugins are made for one software. The current ones may not work.'] : []),
    ...(order !== 0 && !isOther ? ['Mods and plugins may need other versions: see Mods.'] : []),
    'Settings that the new version doesn’t support are dropped.',
  ];
}
