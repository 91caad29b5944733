import type { ReplyOf } from '../../http/calls.ts';
import type { PanelRequest } from '../../web/panel/panel.ts';

/** What the caller may make a server of here, and how large it may be. */
export interface Offers {
  templates: ReplyOf<'ListTemplates'>['templates'];
  cores: ReplyOf<'ListMinecraftVersions'>['cores'];
  /** The most RAM of one server. */
  mostMb: number;
}

/** What may run here: of the rest no server is offered, as none could be made. */
export async function offersTo({ call, principal: { accountId } }: PanelRequest): Promise<Offers> {
  const [{ templates }, { cores }, { maxRamMb }, { ramPerServerMb }] = await Promise.all([
    call('ListTemplates', {}),
    call('ListMinecraftVersions', {}),
    call('GetAccountLimits', { accountId }),
    call('GetCapacity', {}),
  ]);
  return {
    templates: templates.filter(({ serverType }) => cores.some(({ type }) => type === serverType)),
    cores,
    mostMb: Math.min(maxRamMb, Number(ramPerServerMb)),
  };
}
