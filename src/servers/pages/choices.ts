import type { ReplyOf } from '../../http/operation.ts';
import { usdText } from '../../kernel/money.ts';
import { type Html, html } from '../../web/html.ts';
import type { PanelRequest } from '../../web/panel/panel.ts';
import { ramText } from '../../web/panel/words.ts';
import { GetCapacity } from '../../billing/capacity-api.ts';
import { GetAccountLimits } from '../../billing/limits-api.ts';
import { ListMinecraftVersions } from '../../game/catalogue/api.ts';
import { ListTemplates } from '../../templates/api.ts';

const MB_PER_GB = 1_024;
/** Sizes offered for servers, in MB of RAM. */
const SIZES_MB = [256, 512, 1_024, 2_048, 3_072, 4_096, 6_144, 8_192, 12_288, 16_384, 24_576, 32_768];

/** The sizes from `leastMb` to `mostMb`, smallest first. */
export function sizesBetween(leastMb: number, mostMb: number): number[] {
  return SIZES_MB.filter((each) => each >= leastMb && each <= mostMb);
}

/** Returns the usual size, or the largest one up to `mostMb` if that is less. */
export function sizeWithin(mostMb: number, usualMb: number): number {
  return usualMb <= mostMb ? usualMb : (sizesBetween(0, mostMb).at(-1) ?? usualMb);
}

/** Returns the price of an amount of RAM at a price per GB, in micros. */
function priceOf(ramMb: number, perGbMicros: number): number {
  return (perGbMicros * ramMb) / MB_PER_GB;
}

/**
 * Returns the options of a size field with the price per hour awake and, if the flat plan is available, per 30 days.
 * Free sizes have no price.
 */
export function sizeOptions(
  sizes: readonly number[],
  perGbHourMicros: number,
  perGbMonthMicros?: number,
): [value: string, text: string][] {
  const price = (micros: number, span: string) => (micros === 0 ? 'free' : `${usdText(micros)} ${span}`);
  return sizes.map((mb) => {
    const metered = price(priceOf(mb, perGbHourMicros), 'an hour');
    const flat = perGbMonthMicros !== undefined && price(priceOf(mb, perGbMonthMicros), 'for 30 days');
    if (metered === 'free' && (flat === false || flat === metered)) return [String(mb), ramText(mb)];
    return [String(mb), `${ramText(mb)}: ${metered}${flat === false || flat === metered ? '' : `, or flat ${flat}`}`];
  });
}

/** The servers a caller can create here, and their largest size. */
export interface Offers {
  templates: ReplyOf<typeof ListTemplates>['templates'];
  cores: ReplyOf<typeof ListMinecraftVersions>['cores'];
  /** The most RAM of one server. */
  mostMb: number;
}

/** Returns the templates and sizes available here. Only software that can run here is included. */
export async function offersTo({ call, principal: { accountId } }: PanelRequest): Promise<Offers> {
  const [{ templates }, { cores }, { maxRamMb }, { ramPerServerMb }] = await Promise.all([
    call(ListTemplates, {}),
    call(ListMinecraftVersions, {}),
    call(GetAccountLimits, { accountId }),
    call(GetCapacity, {}),
  ]);
  return {
    templates: templates.filter(({ serverType }) => cores.some(({ type }) => type === serverType)),
    cores,
    mostMb: Math.min(maxRamMb, Number(ramPerServerMb)),
  };
}

/** A link that selects one option. */
interface Tile {
  href: string;
  name: string;
  about: string;
  /** Whether this option is selected. */
  here: boolean;
}

/** Links with a short description each, one of them current. */
export function tiles(all: readonly Tile[], label: string): Html {
  return html`<nav aria-label="${label}">
    <ul class="tiles">
      ${all.map(
        ({ href, name, about, here }) =>
          html`<li>
            <a href="${href}" ${here && html`aria-current="true"`}>${name}</a>
            <small>${about}</small>
          </li>`,
      )}
    </ul>
  </nav>`;
}
