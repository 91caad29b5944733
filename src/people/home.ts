import { ASSETS } from '../web/assets.ts';
import { html } from '../web/html.ts';
import type { Answer, Page } from '../web/page-request.ts';
import type { Serve } from '../web/serve.ts';
import type { People, SignUp } from './people.ts';

/** The home page for visitors. Signed-in users get their servers. */
export function mountHome(serve: Serve, { config }: People): void {
  serve.open('/', (request): Answer => (request.principal ? { to: '/servers' } : homePage(config.signup)));
}

/** The hint for people without an account if only operators create accounts. */
export const ASK_FOR_ACCOUNT = 'New here? Ask your administrator for an invitation link.';

function homePage(signup: SignUp): Page {
  const main = html`<section class="card hero">
      <img src="${ASSETS.logo}" alt="A dormouse asleep under the moon" width="176" height="176" />
      <h1>Minecraft servers that sleep until someone joins</h1>
      <p>
        A Dormouse server costs nothing while it sleeps. When a player joins, it wakes up, and the player stays
        connected until it is ready: no kick, no second try.
      </p>
      <p class="actions">
        <a class="button" href="/sign-in">Sign in</a
        >${signup !== 'closed' && html`<a class="button second" href="/sign-up">Create an account</a>`}
      </p>
      ${signup === 'closed' && html`<p class="aside">${ASK_FOR_ACCOUNT}</p>`}
    </section>
    <div class="three">
      <section class="card">
        <h2>Join once</h2>
        <p>Dormouse holds your login while the server starts, then passes it on unchanged.</p>
      </section>
      <section class="card">
        <h2>Pay while awake</h2>
        <p>Viewing the server list does not wake your server. Your bill shows the cause of every minute.</p>
      </section>
      <section class="card">
        <h2>Use it from anywhere</h2>
        <p>
          Create a key in your <a href="/profile/keys">profile</a> and control everything through the
          <a href="/docs">API</a>.
        </p>
      </section>
    </div>`;
  return { title: 'Servers that sleep', main };
}
