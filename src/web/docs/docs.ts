import type { Router } from '@koa/router';
import { keptBytes } from '../../http/kept-bytes.ts';
import { sessionToken } from '../../http/session/session-cookie.ts';
import { ASSETS } from '../assets.ts';
import { type Html, html } from '../html.ts';
import { LIVE_PAGE_POLICY, VISITOR, layout } from '../layout.ts';
import type { Serve } from '../serve.ts';
import { type Section, describedApi } from './described.ts';
import { fieldsOf, messageAnchor, operationCard, prose, typeOf } from './operation.ts';

const PATH = '/docs';

/**
 * The API reference, rendered from the API's own description. Readable without scripts, which add search and a console.
 * Created from the OpenAPI document on first use, and cached as bytes for visitors without a session.
 */
export function mountDocs(router: Router, serve: Serve, baseUrl: string, openapi: () => object): void {
  let main: Html | undefined;
  const page = () => ({
    title: 'The API',
    main: (main ??= docs(baseUrl, openapi())),
    styles: [ASSETS.docsStyle],
    scripts: [ASSETS.docsScript],
  });
  const kept = keptBytes({ type: 'html', compress: true }, () => layout(page(), VISITOR).toString());
  router.get(PATH, async (ctx, next) => {
    // The frame depends on the session and on the address to return to after signing in.
    if (sessionToken(baseUrl, ctx.headers.cookie) !== undefined || ctx.search !== '') return next();
    ctx.set('Content-Security-Policy', LIVE_PAGE_POLICY);
    ctx.vary('Cookie');
    return kept(ctx, next);
  });
  serve.open(PATH, page);
}

function docs(baseUrl: string, document: object): Html {
  const { lead, sections, messages } = describedApi(document);
  const context = { baseUrl, messages: new Map(messages) };
  return html`<div class="docs">
    <section class="card intro">
      <h1>The API</h1>
      <p>${prose(lead)}</p>
      <p>
        Send all requests to <code>${baseUrl}</code>. Create an API key in your <a href="/profile/keys">profile</a> and
        send it in the <code>x-api-key</code> header. The OpenAPI document is <a href="/openapi.json">openapi.json</a>.
      </p>
      <div class="tools" data-tools hidden>
        <div>
          <label for="find">Find an operation</label>
          <input
            id="find"
            type="search"
            autocomplete="off"
            spellcheck="false"
            placeholder="backup, POST, StartServer…"
          />
        </div>
        <div>
          <label for="key">API key for test requests</label>
          <input id="key" type="text" autocomplete="off" spellcheck="false" placeholder="dmk_…" />
          <p class="hint">The key stays on this page. It is not stored and is lost when you leave.</p>
        </div>
      </div>
      <p class="found" data-found role="status"></p>
    </section>
    <nav class="contents" aria-label="Sections">
      ${sections.map((section) => html`<a href="#${anchorOf(section)}">${section.title} <small>${section.operations.length}</small></a>`)}
      <a href="#messages">Messages <small>${messages.length}</small></a>
    </nav>
    <div class="sections">
      ${sections.map(
        (section) =>
          html`<section class="card group" id="${anchorOf(section)}">
            <h2>${section.title}</h2>
            ${section.lead !== '' && html`<p>${prose(section.lead)}</p>`}
            ${section.operations.map((operation) => operationCard(operation, context))}
          </section>`,
      )}
      <section class="card" id="messages">
        <h2>Messages</h2>
        ${messages.map(
          ([name, schema]) =>
            html`<details class="message" id="${messageAnchor(name)}">
              <summary><code>${name}</code></summary>
              ${schema.properties ? fieldsOf(schema, true) : html`<p>${typeOf(schema)}</p>`}
            </details>`,
        )}
      </section>
    </div>
  </div>`;
}

function anchorOf({ title }: Section): string {
  return `section-${title.toLowerCase().replaceAll(/\W+/g, '-')}`;
}
