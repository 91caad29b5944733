import { isTagged } from '../../machines/server.ts';
import { jobNote } from '../backups/pages/job-note.ts';
import type { ReplyOf } from '../http/operation.ts';
import { isAtLeast } from '../http/roles.ts';
import { BROWSER_PREFIX } from '../http/session/browser-mount.ts';
import { CreateImport, GetImport } from '../imports/api.ts';
import { archiveUpload, sentArchive } from '../imports/pages.ts';
import { stopsText, unlessRefused } from '../servers/pages/parts.ts';
import { ASSETS } from '../web/assets.ts';
import { confirmed } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Page } from '../web/page-request.ts';
import { filling, lineField } from '../web/panel/fields.ts';
import { buttonForm, panelForm } from '../web/panel/form.ts';
import { inShort } from '../web/panel/in-short.ts';
import type { Panel, PanelPage, ServerRequest } from '../web/panel/panel.ts';
import { sizeText } from '../web/text.ts';
import { ListBackups } from '../backups/api.ts';
import { InspectMachine } from '../servers/api/machine.ts';
import { ImportServerWorld } from './import.ts';
import { DeleteServerWorld, ListServerWorlds, ResetServerWorld, SetActiveWorld } from './api.ts';

type World = ReplyOf<typeof ListServerWorlds>['worlds'][number];

/** The page that lists, selects, resets and deletes a server's worlds. */
export function mountWorldPages(panel: Panel): void {
  panel.serverPage({ path: '/worlds', show: worldsPage, forms: FORMS, done: DONE, streamed: ['upload'] });
}

const DONE = {
  added: 'World added.',
  adding: 'Adding the world… You can leave this page.',
  chosen: 'World changed. It loads at the next start.',
  reset: 'World reset. The next start creates a new one. A backup of the old one is under Backups.',
  resetting: 'Resetting the world… You can leave this page.',
  deleted: 'World deleted.',
  deleting: 'Deleting the world… You can leave this page.',
};

const FORMS: NonNullable<PanelPage<ServerRequest>['forms']> = {
  async choose({ call, server: { id } }, form) {
    await call(SetActiveWorld, { id }, { name: form.get('name') ?? '' });
    return 'chosen';
  },
  async upload({ call, here }, form) {
    const { name, chunks } = await sentArchive(form);
    const { id } = await call(CreateImport, {}, { name: name.slice(-256) }, { chunks, sizeBytes: undefined });
    return { to: `${here}?import=${id}` };
  },
  async add({ call, query, here, server: { id } }, form) {
    const sent = { importId: query.get('import') ?? '', name: form.get('name') ?? '' };
    return { to: `${here}?done=${await inShort(call(ImportServerWorld, { id }, sent), 'added', 'adding')}` };
  },
  async reset({ call, server: { id } }) {
    return await inShort(call(ResetServerWorld, { id }, {}), 'reset', 'resetting');
  },
  async delete({ call, server: { id } }, form) {
    const work = call(DeleteServerWorld, { id }, { name: form.get('name') ?? '' });
    return await inShort(work, 'deleted', 'deleting');
  },
};

async function worldsPage(request: ServerRequest): Promise<Page> {
  const { call, server, role } = request;
  const { id } = server;
  const mayChange = isAtLeast(role, 'member');
  const [{ worlds }, machine] = await Promise.all([call(ListServerWorlds, { id }), call(InspectMachine, { id })]);
  // A reset makes a backup first, which takes most of its time.
  const backups = machine.job !== null && mayChange ? (await call(ListBackups, { id })).backups : [];
  const main = html`<div data-live="work">${jobNote(machine, backups)}</div>
    <section class="card" data-live="worlds">
      <h2>Worlds</h2>
      <p>Each world is a folder under <a href="/servers/${id}/files">files</a>, with its Nether and End.</p>
      <ul class="list">
        ${worlds.map((world) => worldItem(request, world, mayChange))}
      </ul>
    </section>
    ${mayChange && html`${await addCard(request)}${exportCard(request)}`}`;
  return { title: 'Worlds', main, styles: [ASSETS.filesStyle], scripts: [ASSETS.filesScript] };
}

/** Uploads the archive of a world, then asks for the world's name. */
async function addCard(request: ServerRequest): Promise<Html> {
  const { call, query, here } = request;
  const importId = query.get('import') ?? '';
  const found = importId === '' ? undefined : await unlessRefused(call(GetImport, { importId }), undefined);
  if (found === undefined)
    return html`<section class="card">
      <h2>Add a world</h2>
      <p>Upload a world of your own, for example of a single player. It is added beside the others.</p>
      ${archiveUpload(request, { to: CreateImport.path, after: `${here}?import=` })}
    </section>`;
  const { name, worlds, sizeBytes } = found;
  const world = worlds.find(({ active }) => active) ?? worlds[0];
  const filled = filling(request, 'add');
  const value = world === undefined || world.folders[0] === '' ? name : world.name;
  return html`<section class="card" id="add">
    <h2>Add a world</h2>
    ${
      world === undefined
        ? html`<p class="note warn">The archive has no world in it. <a href="${here}">Upload another one</a>.</p>`
        : panelForm(
            request,
            'add',
            html`${lineField(filled, { name: 'name', label: 'Name of the world', value, maxlength: 255, hint: `${sizeText(sizeBytes)} in the archive. Only its world is added.` })}
              <p class="actions"><button type="submit">Add world</button> <a href="${here}">Not now</a></p>`,
          )
    }
  </section>`;
}

function exportCard({ server: { id, state } }: ServerRequest): Html {
  return html`<section class="card">
    <h2>Export</h2>
    <p>
      A zip of all files, with a note on how to start the server
      elsewhere.${!isTagged(state, 'at-rest') && ' The game does not save while you download, for 10 minutes at most.'}
    </p>
    <p class="actions">
      <a class="button second" href="${BROWSER_PREFIX}/v1/servers/${id}/export" download>Export the server</a>
    </p>
  </section>`;
}

function worldItem(request: ServerRequest, world: World, mayChange: boolean): Html {
  const { name, active, loaded, sizeBytes } = world;
  return html`<li>
    <h3>
      <bdi>${name}</bdi> ${loaded && html`<span class="tag good">being played</span>`}
      ${active && !loaded && html`<span class="tag">at the next start</span>`}
    </h3>
    <p>${sizeBytes === '0' ? 'Created at the next start' : sizeText(sizeBytes)}</p>
    ${mayChange && html`<div class="actions">${actions(request, world)}</div>`}
  </li>`;
}

function actions(request: ServerRequest, { name, active, loaded, sizeBytes }: World): (Html | false)[] {
  const isMade = sizeBytes !== '0';
  return [
    !active &&
      buttonForm(request, 'choose', html`Use<span class="unseen"> from the next start: ${name}</span>`, {
        fields: { name },
      }),
    active &&
      isMade &&
      confirmed(
        `We back up the whole server first. Then ${name} is deleted with its Nether and End, and the next start creates a new one.${stopsText(request)}`,
        'Reset…',
        name,
        buttonForm(request, 'reset', 'Back up and reset', { variant: 'danger' }),
      ),
    isMade &&
      (!active || isTagged(request.server.state, 'at-rest')) &&
      !loaded &&
      confirmed(
        `${name} is deleted permanently with its Nether and End. No backup is made: create one first if you might need it.${active ? ' The next start creates a new one.' : ''}`,
        'Delete…',
        name,
        buttonForm(request, 'delete', 'Delete', { fields: { name }, variant: 'danger' }),
      ),
  ];
}
