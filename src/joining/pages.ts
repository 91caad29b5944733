import type { IncomingMessage } from 'node:http';
import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { isTagged } from '../../machines/server.ts';
import { motdHtml } from '../game/motd/html.ts';
import { StatusError } from '../kernel/status.ts';
import { type Html, html } from '../web/html.ts';
import { NOBODY, layout } from '../web/layout.ts';
import { plainName } from '../web/text.ts';
import { badge } from './badge.ts';
import type { PublicStatusReader, PublicServer } from './public-server.ts';
import { PUBLIC_CACHE } from './public-status-api.ts';
import { stateWords } from './state-words.ts';

/** Browsers reload after this time, sooner while the server is changing state. */
const REFRESH_SECONDS = 30;
const REFRESH_SOON_SECONDS = 5;

export interface StatusPages {
  publicStatusReader: PublicStatusReader;
  /** Returns the address a request comes from. */
  clientAddress: (request: IncomingMessage) => string;
  config: {
    /** The pages' base URL for browsers. */
    baseUrl: string;
  };
}

/**
 * The public view of a server whose owner enables it: a page, its icon, and a badge for other sites. Other sites may
 * embed the badge; the page, like all pages here, must not be framed.
 */
export function mountStatus(router: Router, { publicStatusReader, clientAddress, config }: StatusPages): void {
  const statusOf = (ctx: Context) => publicStatusReader.statusOf(String(ctx.params['slug']), clientAddress(ctx.req));

  router.get('/status/:slug', async (ctx) => {
    const server = await statusOf(ctx);
    ctx.set('Cache-Control', PUBLIC_CACHE);
    ctx.set('Refresh', String(isTagged(server.state, 'passing') ? REFRESH_SOON_SECONDS : REFRESH_SECONDS));
    ctx.type = 'html';
    ctx.body = statusPage(server, config.baseUrl).toString();
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
      <div>
        <dt>Players</dt>
        <dd>${server.playersOnline ?? '–'}<small> of ${server.playersMax}</small></dd>
      </div>
      <div>
        <dt>Version</dt>
        <dd>${plainName(version, 32) || '–'}</dd>
      </div>
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
  return layout({ title: name, main }, NOBODY);
}

function initialOf(name: string): string {
  return Array.from(name)[0]?.toUpperCase() ?? '';
}
