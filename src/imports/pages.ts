import { softwareName } from '../game/cores.ts';
import type { ReplyOf } from '../http/operation.ts';
import { BROWSER_PREFIX } from '../http/session/browser-mount.ts';
import { StatusError } from '../kernel/status.ts';
import { offersTo, sizeOptions, sizeWithin, sizesBetween } from '../servers/pages/choices.ts';
import { agreeToEula, eulaTick, lacksEula } from '../servers/pages/parts.ts';
import { ASSETS } from '../web/assets.ts';
import { confirmed, csrfField } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Page, Redirect } from '../web/page-request.ts';
import { choiceField, filling, lineField } from '../web/panel/fields.ts';
import { actionOf, buttonForm, panelForm } from '../web/panel/form.ts';
import { inShort } from '../web/panel/in-short.ts';
import type { Outcome, Panel, PanelRequest } from '../web/panel/panel.ts';
import { fact } from '../web/panel/parts.ts';
import { ramText } from '../web/panel/words.ts';
import type { Form } from '../web/serve.ts';
import { countText, sizeText, untilText } from '../web/text.ts';
import { GetSpendCap } from '../billing/api.ts';
import { ConfirmImport, CreateImport, DEFAULT_RAM_MB, DeleteImport, GetImport, ListImports } from './api.ts';

type Found = ReplyOf<typeof GetImport>;

const PATH = '/servers/new/import';
/** Most mods, plugins and left-out files that a page lists. */
const MOST_LISTED = 100;

/** Pages that upload an archive, show the server found in it, and create that server. */
export function mountImportPages(panel: Panel): void {
  panel.page({
    path: PATH,
    show: uploadPage,
    forms: { upload, discard },
    done: {
      discarded: 'Import discarded.',
      creating: 'Creating the server… It is in the list of servers once all files are in place.',
    },
    streamed: ['upload'],
  });
  panel.page({ path: `${PATH}/:importId`, show: findingsPage, forms: { confirm, discard } });
}

/** The form of an upload that works without scripts, and the area that scripts show instead. */
export function archiveUpload(request: PanelRequest, upload: { to: string; after: string }): Html {
  return html`<div class="drop" data-upload="${BROWSER_PREFIX}${upload.to}" data-after="${upload.after}">
    <form data-plain method="post" action="${actionOf(request, 'upload')}" enctype="multipart/form-data">
      ${csrfField(request.csrf)}
      <div class="field">
        <label for="upload">Archive: zip, tar, tar.gz or tar.zst</label>
        <input id="upload" name="file" type="file" accept=".zip,.tar,.gz,.tgz,.zst,.tzst" required />
      </div>
      <button type="submit">Upload</button>
    </form>
    <div data-scripted hidden>
      <p>Drop a zip, tar, tar.gz or tar.zst anywhere on this page, or choose it.</p>
      <div class="actions">
        <button class="second" type="button" data-choose="files">Choose an archive</button>
      </div>
      <input type="file" data-files hidden aria-label="Archive to upload" accept=".zip,.tar,.gz,.tgz,.zst,.tzst" />
      <div data-uploads data-keep id="uploads"></div>
    </div>
  </div>`;
}

/** Returns the archive of `archiveUpload`. Throws INVALID_ARGUMENT NOTHING_CHOSEN. */
export async function sentArchive(form: Form) {
  for await (const file of form.uploads ?? []) if (file.name !== '') return file;
  throw new StatusError('INVALID_ARGUMENT', 'NOTHING_CHOSEN', 'Choose an archive first.');
}

async function uploadPage(request: PanelRequest): Promise<Page> {
  const { imports } = await request.call(ListImports, {});
  const main = html`<div class="head"><h1>New server from files</h1></div>
    <section class="card">
      <h2>Upload</h2>
      <p>
        The archive of a server’s folder, from another host or your own machine, or of a world. You see what is in it
        before anything is created, and nothing from it runs. <a href="/servers/new">Or start without files</a>.
      </p>
      ${archiveUpload(request, { to: CreateImport.path, after: `${PATH}/` })}
    </section>
    ${
      imports.length > 0 &&
      html`<section class="card">
        <h2>Uploaded</h2>
        <ul class="list">
          ${imports.map(
            ({ id, name, sizeBytes, expiresAt }) =>
              html`<li>
                <h3><a href="${PATH}/${id}">${name}</a></h3>
                <p>${sizeText(sizeBytes)}. Deleted ${expiry(expiresAt, request)}.</p>
                <div class="actions">
                  ${buttonForm(request, 'discard', html`Discard<span class="unseen"> ${name}</span>`, { fields: { import: id } })}
                </div>
              </li>`,
          )}
        </ul>
      </section>`
    }`;
  return { title: 'New server from files', main, styles: [ASSETS.filesStyle], scripts: [ASSETS.filesScript] };
}

async function upload({ call }: PanelRequest, form: Form): Promise<Outcome> {
  const { name, chunks } = await sentArchive(form);
  const { id } = await call(CreateImport, {}, { name: name.slice(-256) }, { chunks, sizeBytes: undefined });
  return { to: `${PATH}/${id}` };
}

async function discard({ call }: PanelRequest, form: Form): Promise<Outcome> {
  await call(DeleteImport, { importId: form.get('import') ?? '' }, {});
  return { to: `${PATH}?done=discarded` };
}

async function confirm({ call, params, principal }: PanelRequest, form: Form): Promise<Outcome> {
  if (form.has('eula')) await agreeToEula(call, principal.accountId);
  const [name, type, version] = ['name', 'type', 'version'].map((field) => form.get(field) ?? '');
  const sent = { name, type, version, ramMb: Number(form.get('ramMb') ?? '') };
  let to = '';
  const work = call(ConfirmImport, { importId: params['importId'] ?? '' }, sent).then(
    ({ id }) => (to = `/servers/${id}`),
  );
  const late = await inShort(work, '', `${PATH}?done=creating`);
  return { to: late || to };
}

async function findingsPage(request: PanelRequest): Promise<Page | Redirect> {
  const { accountId } = request.principal;
  const found = await request.call(GetImport, { importId: request.params['importId'] ?? '' });
  const [{ cores, mostMb }, prices] = await Promise.all([offersTo(request), request.call(GetSpendCap, { accountId })]);
  const isOffered = cores.some(({ type }) => type === found.type);
  const mustAgree = await lacksEula(request.call, accountId, found.type || 'vanilla');
  const filled = filling(request, 'confirm');
  const usual = found.ramMb || DEFAULT_RAM_MB;
  const sizes = [...new Set([...sizesBetween(512, mostMb), Math.max(512, usual)])]
    .filter((mb) => mb <= mostMb)
    .toSorted((a, b) => a - b);
  const fields = html`${lineField(filled, { name: 'name', label: 'Name', value: found.name, maxlength: 64, hint: 'Shown to players. We also use it for the address.' })}
    <div class="two">
      ${choiceField(filled, {
        name: 'type',
        label: 'Software',
        value: isOffered ? found.type : '',
        options: [
          ...(isOffered ? [] : ([['', 'Choose…']] as const)),
          ...cores.map(({ type }) => [type, softwareName(type)] as const),
        ],
      })}
      ${lineField(filled, { name: 'version', label: 'Minecraft version', value: found.version, maxlength: 32 })}
    </div>
    ${choiceField(filled, {
      name: 'ramMb',
      label: 'RAM',
      hint:
        found.ramMb > 0 ? 'As its start script asked for. You can change this later.' : 'You can change this later.',
      value: String(sizeWithin(mostMb, Math.max(512, usual))),
      options: sizeOptions(sizes, Number(prices.perGbHourMicros)),
    })}
    ${mustAgree && eulaTick(filled)}
    <p class="actions"><button type="submit">Create server</button></p>
    <p class="hint">Free until someone joins or you start it.</p>`;
  const main = html`<div class="head"><h1>${found.name}</h1></div>
    <section class="card">
      <h2>Found in the archive</h2>
      ${unknownNote(found, isOffered)} ${facts(found)} ${lists(found)}
    </section>
    <section class="card" id="make">
      <h2>Create the server</h2>
      ${panelForm(request, 'confirm', fields)}
    </section>
    <section class="card">
      <h2>Discard</h2>
      <p>Without a server, the upload is deleted ${expiry(found.expiresAt, request)}.</p>
      ${confirmed(
        'The uploaded archive is deleted. Nothing else changes.',
        'Discard…',
        found.name,
        buttonForm(request, 'discard', 'Discard the upload', { fields: { import: found.id }, variant: 'danger' }),
      )}
    </section>`;
  return { title: `${found.name}, found`, main, styles: [ASSETS.filesStyle] };
}

function expiry(expiresAt: string | null, { now }: PanelRequest): string {
  return untilText(Date.parse(expiresAt ?? ''), now);
}

/** Says what the upload lacks to become a server, and what to do. */
function unknownNote({ type, worlds, players, properties }: Found, isOffered: boolean): Html | false {
  if (type !== '' && !isOffered) {
    return html`<p class="note warn">${softwareName(type)} can’t run here. Choose other software below.</p>`;
  }
  if (type === '') return html`<p class="note warn">Its software is unknown. Choose it below.</p>`;
  const isWorldAlone = worlds.length > 0 && players.length === 0 && Object.keys(properties).length === 0;
  return (
    isWorldAlone &&
    html`<p class="note">
      This is a world without a server. To add it to a server that you have, upload it on that server’s page Worlds.
    </p>`
  );
}

function facts({ type, version, build, ramMb, worlds, motd, files, sizeBytes }: Found): Html {
  return html`<dl class="facts">
    ${type !== '' && fact('Software', softwareName(type))} ${version !== '' && fact('Minecraft', version)}
    ${build !== '' && fact('Build', build)} ${ramMb > 0 && fact('Memory', ramText(ramMb))}
    ${motd !== '' && fact('Description', html`<bdi>${motd}</bdi>`)}
    ${
      worlds.length > 0 &&
      fact(
        'Worlds',
        html`${worlds.map(({ name, active }, at) => html`${at > 0 && ', '}<bdi>${name}</bdi>${active && worlds.length > 1 && ' (active)'}`)}`,
      )
    }
    ${fact('Files', `${countText(files, 'file')}, ${sizeText(sizeBytes)}`)}
  </dl>`;
}

function lists({ mods, players, properties, leftOut }: Found): Html {
  return html`${listed(
    countText(mods.length, 'mod or plugin', 'mods and plugins'),
    mods.map(({ name, version }) => html`<bdi>${name}</bdi> ${version}`),
  )}
  ${listed(
    countText(players.length, 'player list'),
    players.map((path) => html`<code>${path}</code>`),
  )}
  ${listed(
    countText(Object.keys(properties).length, 'game setting'),
    Object.entries(properties).map(([key, value]) => html`<code>${key}=${value}</code>`),
  )}
  ${listed(
    `${countText(leftOut.length, 'entry', 'entries')} left out`,
    leftOut.map(({ path, reason }) => html`<code>${path}</code>: ${reason}`),
  )}`;
}

function listed(label: string, items: readonly Html[]): Html | false {
  return (
    items.length > 0 &&
    html`<details>
      <summary>${label}</summary>
      <ul>
        ${items.slice(0, MOST_LISTED).map((item) => html`<li>${item}</li>`)}
        ${items.length > MOST_LISTED && html`<li>and ${items.length - MOST_LISTED} more</li>`}
      </ul>
    </details>`
  );
}
