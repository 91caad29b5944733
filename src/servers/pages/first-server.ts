import type { ReplyOf } from '../../http/calls.ts';
import { type Html, html } from '../../web/html.ts';
import { choiceField, filling, lineField } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { Outcome, PanelRequest } from '../../web/panel/panel.ts';
import { ramText } from '../../web/panel/words.ts';
import type { Form } from '../../web/serve.ts';

type Summary = ReplyOf<'ListMyServers'>['my'][number];

/** Makes a server of a template, in two fields. */
export async function createFirst({ call }: PanelRequest, form: Form): Promise<Outcome> {
  const templateId = form.get('template') ?? '';
  const { id } = await call('CreateServerFromTemplate', { templateId }, { name: form.get('name') ?? '' });
  return { to: `/servers/${id}` };
}

/** The way to a first join, while nobody has come in yet; nothing for who knows it. */
export async function firstSteps(request: PanelRequest, my: readonly Summary[]): Promise<Html> {
  const [server] = my;
  if (my.length > 1 || (server && (await hasBeenJoined(request, server)))) return html``;
  return html`<section class="card">
    <h2>${server ? 'Your server is there. Now join it' : 'You have no server yet. Three steps to the first join'}</h2>
    <ol class="steps">
      <li ${server && html`class="past"`}>
        <h3>${server ? 'A server is made' : 'Make a server'}</h3>
        ${server ? html`<p>It costs nothing while it sleeps.</p>` : await firstForm(request)}
      </li>
      <li>
        <h3>Open its address in Minecraft</h3>
        <p>
          Multiplayer → Direct Connection →
          ${server ? html`<code>${server.address}</code>` : 'the address that its page shows'}.
        </p>
      </li>
      <li>
        <h3>Join</h3>
        <p>Joining wakes it. You wait in the game until it is ready; when everybody has left it goes back to sleep.</p>
      </li>
    </ol>
  </section>`;
}

/** As far as that is remembered: by what woke it lately, and by who played in the last day. */
async function hasBeenJoined({ call }: PanelRequest, { id, playersOnline = 0 }: Summary): Promise<boolean> {
  if (playersOnline > 0) return true;
  const { transitions } = await call('InspectMachine', { id });
  if (transitions.length >= MOST_STEPS || transitions.some(({ cause }) => cause.kind === 'player')) return true;
  return (await call('GetServerMetrics', { id })).series.some(({ players }) => players > 0);
}

/** As many of a server's steps as are told. */
const MOST_STEPS = 50;

async function firstForm(request: PanelRequest): Promise<Html> {
  const { templates } = await request.call('ListTemplates', {});
  const filled = filling(request, 'first');
  const options = templates.map(({ id, name, version, ramMb }) => {
    return [id, `${name}: ${version}, ${ramText(ramMb)} of RAM`] as const;
  });
  return panelForm(
    request,
    'first',
    html`${lineField(filled, { name: 'name', label: 'Name', value: 'My server', maxlength: 64 })}
      ${choiceField(filled, { name: 'template', label: 'What to play', options })}
      <p class="actions">
        <button type="submit">Make it</button><a class="button second" href="/servers/new">Choose more</a>
      </p>`,
  );
}
