import { type Html, html } from '../../../web/html.ts';
import { filling, lineField } from '../../../web/panel/fields.ts';
import { panelForm } from '../../../web/panel/form.ts';
import type { Outcome, ServerRequest } from '../../../web/panel/panel.ts';
import type { Form } from '../../../web/serve.ts';

/** Saves the server's settings under a name as a template of the caller. */
export async function makeTemplate({ call, server: { id } }: ServerRequest, form: Form): Promise<Outcome> {
  await call(
    'CreateTemplate',
    {},
    { serverId: id, name: form.get('name') ?? '', description: form.get('description') ?? '' },
  );
  return 'template';
}

export function templateCard(request: ServerRequest): Html {
  const filled = filling(request, 'template');
  return html`<section class="card">
    <h2>Create a template</h2>
    <p>
      Saves the software, size, plan, properties and description of this server as a template under
      <a href="/servers/new">New server</a>. Its world and files are not included.
    </p>
    ${panelForm(
      request,
      'template',
      html`${lineField(filled, { name: 'name', label: 'Name of the template', value: request.server.name, maxlength: 64 })}
        ${lineField(filled, {
          name: 'description',
          label: 'Short description',
          hint: 'Shown in the list of templates.',
          maxlength: 512,
          required: false,
        })}<button type="submit">Create template</button>`,
    )}
  </section>`;
}
