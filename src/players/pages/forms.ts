import type { Panel, ServerRequest } from '../../web/panel/panel.ts';
import type { Form } from '../../web/serve.ts';
import { endIn } from './ban-length.ts';

type Forms = NonNullable<Parameters<Panel['serverPage']>[0]['forms']>;

/** The page's forms, one operation each. */
export const playerForms: Forms = {
  async kick({ call, server, here }, form) {
    await call('KickPlayer', server, { name: text(form, 'name'), reason: text(form, 'reason') });
    return { to: `${here}?done=kicked` };
  },
  async enforce({ call, server }, form) {
    await call('SetWhitelistEnforced', server, { enforced: isOn(form) });
    return 'whitelist';
  },
  async whitelist({ call, server }, form) {
    await call('SetWhitelistEntry', server, { name: text(form, 'name'), allowed: isOn(form) });
    return 'whitelist';
  },
  async operator({ call, server }, form) {
    await call('SetOpEntry', server, { name: text(form, 'name'), op: isOn(form) });
    return 'operators';
  },
  async ban(request, form) {
    await request.call('SetBanEntry', request.server, { name: text(form, 'name'), ...banIn(request, form) });
    return { to: `${request.here}?done=bans#bans` };
  },
  async 'ban-address'(request, form) {
    await request.call('SetIpBanEntry', request.server, { ip: text(form, 'ip'), ...banIn(request, form) });
    return 'bans';
  },
} satisfies Record<string, (request: ServerRequest, form: Form) => unknown>;

function banIn({ now }: ServerRequest, form: Form) {
  const expires = endIn(form, now);
  return { banned: isOn(form), reason: text(form, 'reason'), ...(expires !== undefined && { expires }) };
}

/** Returns a field without surrounding blanks, which are usually typed or copied by mistake. */
function text(form: Form, field: string): string {
  return (form.get(field) ?? '').trim();
}

function isOn(form: Form): boolean {
  return form.get('on') === 'true';
}
