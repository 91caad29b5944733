import type { IncomingMessage } from 'node:http';
import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { isTagged } from '../../machines/server.ts';
import { motdHtml } from '../game/motd/html.ts';
import { StatusError } from '../kernel/status.ts';
import { type Html, html } from '../web/html.ts';
import { VISITOR, layout } from '../web/layout.ts';
import { fact } from '../web/panel/parts.ts';
import { plainName } from '../web/text.ts';
import type { PublicStatusReader, PublicServer } from './public-status.ts';
import { PUBLIC_CACHE } from './public-status-api.ts';
import type { WakePolicy } from './join-policy.ts';

/** Browsers reload after this time, sooner while the server is changing state. */
const REFRESH_SECONDS = 30;
const REFRESH_SOON_SECONDS = 5;

/**
 * The public view of a server whose owner enables it: a page, its icon, and a badge for other sites. Other sites may
 * embed the badge; the page, like all pages here, must not be framed.
 */
export function mountStatus(
  router: Router,
  reader: PublicStatusReader,
  /** Returns the address a request comes from. */
  clientAddress: (request: IncomingMessage) => string,
  /** The pages' base URL for browsers. */
  baseUrl: string,
): void {
  const statusOf = (ctx: Context) => reader.statusOf(String(ctx.params['slug']), clientAddress(ctx.req));

  router.get('/status/:slug', async (ctx) => {
    const server = await statusOf(ctx);
    ctx.set('Cache-Control', PUBLIC_CACHE);
    ctx.set('Refresh', String(isTagged(server.state, 'passing') ? REFRESH_SOON_SECONDS : REFRESH_SECONDS));
    ctx.type = 'html';
    ctx.body = statusPage(server, baseUrl).toString();
  });

  router.get('/status/:slug/badge.svg', async (ctx) => {
    const server = await statusOf(ctx);
    picture(ctx, 'image/svg+xml', badge(plainName(server.name, 32), stateWords(server)));
  });

  router.get('/status/:slug/icon.png', async (ctx) => {
    const { icon } = await statusOf(ctx);
    if (!icon) throw new StatusError('NOT_FOUND', 'ICON_NOT_FOUND', 'This server has no icon.');
    picture(ctx, 'image/png', icon);
  });
}

/** An SVG is a document; this keeps it harmless even when opened directly. */
function picture(ctx: Context, type: string, body: string | Buffer): void {
  ctx.set('Cache-Control', PUBLIC_CACHE);
  ctx.set('Content-Security-Policy', "default-src 'none'; sandbox");
  ctx.set('Cross-Origin-Resource-Policy', 'cross-origin');
  ctx.type = type;
  ctx.body = body;
}

function statusPage(server: PublicServer, baseUrl: string): Html {
  const { slug, maintenance, icon, version, address } = server;
  const name = plainName(server.name);
  const { label, tone, hint } = stateWords(server);
  const main = html`<article class="card status">
    <header>
      ${
        icon
          ? html`<img src="/status/${slug}/icon.png" alt="" width="64" height="64" />`
          : html`<span class="initial" aria-hidden="true">${initialOf(name)}</span>`
      }
      <div>
        <h1><bdi>${name}</bdi></h1>
        <p class="state ${tone}"><span class="dot" aria-hidden="true"></span>${label}</p>
      </div>
    </header>
    <p class="motd">${motdHtml(server.motd)}</p>
    ${maintenance !== '' && html`<p class="note warn">${motdHtml(maintenance)}</p>`}
    <dl class="figures">
      ${fact('Players', html`${server.playersOnline ?? '–'}<small> of ${server.playersMax}</small>`)}
      ${fact('Version', plainName(version, 32) || '–')}
    </dl>
    ${address !== '' && html`<p class="address"><span class="kicker">Join at</span><code>${address}</code></p>`}
    ${hint !== '' && html`<p class="hint">${hint}</p>`}
    <details>
      <summary>Show this on your site</summary>
      <p><img src="/status/${slug}/badge.svg" alt="${name}: ${label}" height="28" /></p>
      <p><code>${`[![Server status](${baseUrl}/status/${slug}/badge.svg)](${baseUrl}/status/${slug})`}</code></p>
    </details>
  </article>`;
  // Identical for all readers, signed in or not, so that shared caches can store it.
  return layout({ title: name, main }, VISITOR);
}

function initialOf(name: string): string {
  return Array.from(name)[0]?.toUpperCase() ?? '';
}

const BADGE_HEIGHT = 28;
const BADGE_PADDING = 10;
const BADGE_MOON = 14;
/** Background and text colour of the right half; legible in contrast to each other (WCAG AA). */
const BADGE_TONES: Record<StateWords['tone'], readonly [ground: string, ink: string]> = {
  up: ['#1f7a4d', '#ffffff'],
  asleep: ['#5b4487', '#ffffff'],
  passing: ['#f3b183', '#2b1d3d'],
  down: ['#9d1f38', '#ffffff'],
};

/**
 * Returns a badge as SVG: the name under a moon, and the state in its colour. It embeds no font, so each half is as
 * wide as the widest common sans serif needs, and the text is fitted to that width.
 */
function badge(name: string, { label, tone }: StateWords): string {
  const [ground, ink] = BADGE_TONES[tone];
  const nameWidth = widthOf(name);
  const labelWidth = widthOf(label);
  const left = BADGE_PADDING + BADGE_MOON + 6 + nameWidth + BADGE_PADDING;
  const width = left + BADGE_PADDING + labelWidth + BADGE_PADDING;
  const clip = `M6 0H${width - 6}a6 6 0 0 1 6 6V${BADGE_HEIGHT - 6}a6 6 0 0 1 -6 6H6a6 6 0 0 1 -6 -6V6a6 6 0 0 1 6 -6z`;
  const right = `M${left} 0H${width - 6}a6 6 0 0 1 6 6V${BADGE_HEIGHT - 6}a6 6 0 0 1 -6 6H${left}z`;
  return html`<svg
    xmlns="http://www.w3.org/2000/svg"
    width="${width}"
    height="${BADGE_HEIGHT}"
    viewBox="0 0 ${width} ${BADGE_HEIGHT}"
    role="img"
    aria-label="${name}: ${label}"
  >
    <title>${name}: ${label}</title>
    <path fill="#332b66" d="${clip}" />
    <path fill="${ground}" d="${right}" />
    <path
      fill="#ffdca8"
      transform="translate(${BADGE_PADDING} 7)"
      d="M9.500 .5a7 7 0 1 0 4.500 9.200A5.600 5.600 0 0 1 9.500 .5z"
    />
    <g font-family="Verdana,'DejaVu Sans',Geneva,sans-serif" font-size="12" font-weight="600">
      <text fill="#fdf6ec" x="${BADGE_PADDING + BADGE_MOON + 6}" y="18.500" textLength="${nameWidth}">${name}</text>
      <text fill="${ink}" x="${left + BADGE_PADDING}" y="18.500" textLength="${labelWidth}">${label}</text>
    </g>
  </svg>`.toString();
}

/**
 * Returns the width in bold Verdana at 12 px, rounded up by kind of character. Letters of other scripts count as
 * square.
 */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += WIDTHS.find(([kind]) => kind.test(character))?.[1] ?? 12.5;
  return Math.ceil(width);
}

const WIDTHS: readonly (readonly [RegExp, number])[] = [
  [/[iIjl.,:;'|!·]/, 4.6],
  [/[ frt()[\]/-]/, 5.6],
  [/[mwMWQO@%]/, 11.4],
  [/[A-Z]/, 9],
  [/[\x20-\x7e]/, 7.9],
];

/** The label, tone and hint of a state, for strangers. */
interface StateWords {
  label: string;
  tone: 'up' | 'asleep' | 'passing' | 'down';
  /** The player's next step; '' without one. */
  hint: string;
}

/** A server's state in words for players. Never includes why it failed. */
function stateWords(server: PublicServer): StateWords {
  const { state, maintenance, standing, wakeMode, playersOnline, playersMax } = server;
  if (standing === 'node_lost') return NOT_ANSWERING;
  if (maintenance !== '' && state !== 'running') return { label: 'Maintenance', tone: 'passing', hint: '' };
  if (standing === 'no_room') return NO_ROOM;
  if (standing === 'suspended' && isTagged(state, 'at-rest')) return CLOSED;
  switch (state) {
    case 'running': {
      const players = playersOnline === undefined ? '' : ` · ${playersOnline}/${playersMax}`;
      return { label: `Online${players}`, tone: 'up', hint: '' };
    }
    case 'hibernated':
      return { label: 'Asleep', tone: 'asleep', hint: `Asleep until someone joins. ${WAKES[wakeMode]}` };
    case 'starting':
      return { label: 'Waking up', tone: 'passing', hint: 'Join now. You are connected once it is ready.' };
    case 'stopping':
      return { label: 'Falling asleep', tone: 'passing', hint: 'It is saving its world.' };
    case 'installing':
      return { label: 'Being set up', tone: 'passing', hint: 'Come back in a few minutes.' };
    default:
      return { label: 'Needs its owner', tone: 'down', hint: 'Its owner can bring it back.' };
  }
}

const NOT_ANSWERING: StateWords = {
  label: 'Not responding',
  tone: 'down',
  hint: 'Its machine is not responding. It continues when the machine is back.',
};
const NO_ROOM: StateWords = {
  label: 'Waiting for capacity',
  tone: 'passing',
  hint: 'No capacity right now. It starts automatically when there is.',
};
const CLOSED: StateWords = { label: 'Closed', tone: 'down', hint: 'Closed for now.' };

const WAKES: Readonly<Record<WakePolicy['mode'], string>> = {
  anyone: 'Joining wakes it.',
  verified: 'Joining wakes it.',
  known: 'Players who have played there before can wake it by joining.',
  whitelist: 'Whitelisted players can wake it by joining.',
  nobody: 'Only its owner can wake it.',
};
