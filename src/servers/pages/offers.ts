import type { ReplyOf } from '../../http/calls.ts';
import type { PanelRequest } from '../../web/panel/panel.ts';

/** The servers a caller can create here, and their largest size. */
export interface Offers {
  templates: ReplyOf<'ListTemplates'>['templates'];
  cores: ReplyOf<'ListMinecraftVersions'>['cores'];
  /** The most RAM of one server. */
  mostMb: number;
}

/** Returns the templates and sizes available here. Only software that can run here is included. */
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
