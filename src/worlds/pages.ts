import { isTagged } from '../../machines/server.ts';
import { jobNote } from '../backups/pages/job-note.ts';
import type { ReplyOf } from '../http/calls.ts';
import { isAtLeast } from '../http/roles.ts';
import { stopsText } from '../servers/pages/stops.ts';
import { confirmed } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Page } from '../web/page-request.ts';
import { buttonForm } from '../web/panel/form.ts';
import { inShort } from '../web/panel/in-short.ts';
import type { Panel, PanelPage, ServerRequest } from '../web/panel/panel.ts';
import { sizeText } from '../web/text.ts';

type World = ReplyOf<'ListServerWorlds'>['worlds'][number];

/** The worlds in a server's folder: which one is played, reset and deleted. */
export function mountWorldPages(panel: Panel): void {
  panel.serverPage({ path: '/worlds', show: worldsPage, forms: FORMS, done: DONE });
}

const DONE = {
  chosen: 'The next start loads that world.',
  reset: 'The world is reset: the next start makes it anew. The backup made before lies among the backups.',
  resetting: 'The world is being reset. This takes a while, and goes on without this page.',
  deleted: 'The world is deleted.',
  deleting: 'The world is being deleted. This takes a while, and goes on without this page.',
};

const FORMS: NonNullable<PanelPage<ServerRequest>['forms']> = {
  async choose({ call, server: { id } }, form) {
    await call('SetActiveWorld', { id }, { name: form.get('name') ?? '' });
    return 'chosen';
  },
  async reset({ call, server: { id } }) {
    return await inShort(call('ResetServerWorld', { id }, {}), 'reset', 'resetting');
  },
  async delete({ call, server: { id } }, form) {
    const work = call('DeleteServerWorld', { id }, { name: form.get('name') ?? '' });
    return await inShort(work, 'deleted', 'deleting');
  },
};

async function worldsPage(request: ServerRequest): Promise<Page> {
  const { call, server, role } = request;
  const { id } = server;
  const mayChange = isAtLeast(role, 'member');
  const [{ worlds }, machine] = await Promise.all([call('ListServerWorlds', { id }), call('InspectMachine', { id })]);
  // A reset makes a backup first, which is most of its work.
  const backups = machine.job !== null && mayChange ? (await call('ListBackups', { id })).backups : [];
  const main = html`<div data-live="work">${jobNote(machine, backups)}</div>
    <section class="card" data-live="worlds">
      <h2>Worlds</h2>
      <p>
        Each is a folder among the server's <a href="/servers/${id}/files">files</a>; its nether and end belong to it.
        To bring one of your own, upload its folder there.
      </p>
      <ul class="list">
        ${worlds.map((world) => worldItem(request, world, mayChange))}
      </ul>
    </section>`;
  return { title: 'Worlds', main };
}

function worldItem(request: ServerRequest, world: World, mayChange: boolean): Html {
  const { name, active, loaded, sizeBytes } = world;
  return html`<li>
    <h3>
      <bdi>${name}</bdi> ${loaded && html`<span class="tag good">being played</span>`}
      ${active && !loaded && html`<span class="tag">at the next start</span>`}
    </h3>
    <p>${sizeBytes === '0' ? 'Made at the next start' : sizeText(sizeBytes)}</p>
    ${mayChange && html`<div class="actions">${actions(request, world)}</div>`}
  </li>`;
}

function actions(request: ServerRequest, { name, active, loaded, sizeBytes }: World): (Html | false)[] {
  const isMade = sizeBytes !== '0';
  return [
    !active &&
      buttonForm(request, 'choose', html`Play it<span class="unseen"> from the next start on: ${name}</span>`, {
        fields: { name },
      }),
    active &&
      isMade &&
      confirmed(
        `First a backup of the whole server is made. Then ${name} is removed, with its nether and end and all that was built in it, and the next start makes a new one.${stopsText(request)}`,
        'Reset…',
        name,
        buttonForm(request, 'reset', 'Make a backup, then reset', { look: 'danger' }),
      ),
    isMade &&
      (!active || isTagged(request.server.state, 'at-rest')) &&
      !loaded &&
      confirmed(
        `${name} is deleted for good, with its nether and end and all that was built in it. No backup is made: make one first if you may want it back.${active ? ' The next start makes a new one.' : ''}`,
        'Delete…',
        name,
        buttonForm(request, 'delete', 'Delete', { fields: { name }, look: 'danger' }),
      ),
  ];
}
