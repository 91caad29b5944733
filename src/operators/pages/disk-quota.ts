import { invalidFields } from '../../http/errors.ts';
import type { ReplyOf } from '../../http/calls.ts';
import { hidden } from '../../web/form.ts';
import { type Html, html } from '../../web/html.ts';
import { fillingOf, lineField } from '../../web/panel/fields.ts';
import { panelForm } from '../../web/panel/form.ts';
import type { Outcome, PanelRequest } from '../../web/panel/panel.ts';
import { ramText } from '../../web/panel/words.ts';
import type { Form } from '../../web/serve.ts';
import { reasonField } from './frame.ts';

type Server = ReplyOf<'GetAccount'>['servers'][number];

/** A server's disk use and quota. */
export function diskText(server: Server): Html {
  const quota = Number(server.diskQuotaEffectiveMb);
  return html`Disk: ${server.diskUsageKnown ? ramText(Number(server.diskUsageMb)) : 'not measured yet'},
  ${quota === 0 ? 'no quota' : `quota ${ramText(quota)}`}${Number(server.diskQuotaOverrideMb) > 0 && ' of its own'}`;
}

/** The form for a server's own quota. */
export function quotaForm(request: PanelRequest, { id, diskQuotaOverrideMb }: Server): Html {
  const filled = fillingOf(request, 'quota', { server: id }, id);
  const field = lineField(filled, {
    name: 'quotaMb',
    label: 'Quota in MB',
    hint: 'Applies immediately: a server over its quota is stopped. Empty = default.',
    value: Number(diskQuotaOverrideMb) > 0 ? diskQuotaOverrideMb : '',
    type: 'number',
    maxlength: 10,
    required: false,
    more: html`min="1"`,
  });
  const reason = reasonField(filled, 'Recorded in the audit log. Shown to the owner.');
  return html`<details ${request.failed === 'quota' && request.sent?.get('server') === id && html`open`}>
    <summary>Disk quota…<span class="unseen"> of ${id}</span></summary>
    ${panelForm(request, 'quota', html`${hidden('server', id)}${field}${reason}<button type="submit">Set the quota</button>`)}
  </details>`;
}

/** Sets a server's own quota. */
export async function setQuota({ call }: PanelRequest, form: Form): Promise<Outcome> {
  const typed = (form.get('quotaMb') ?? '').trim();
  if (typed !== '' && !/^[1-9]\d{0,9}$/.test(typed))
    throw invalidFields([{ field: 'quotaMb', description: 'Enter whole MB, such as 20480.' }]);
  await call(
    'SetDiskQuota',
    { id: form.get('server') ?? '' },
    { quotaMb: Number(typed), reason: form.get('reason') ?? '' },
  );
  return 'quota';
}
