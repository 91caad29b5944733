import { csrfField, hidden, problemNote } from '../../web/form.ts';
import { html } from '../../web/html.ts';
import { type Problem, problemOf, withProblem } from '../../web/problem.ts';
import type { Serve } from '../../web/serve.ts';
import type { Page, PageRequest } from '../../web/page-request.ts';
import type { People } from '../people.ts';
import { verifyEmail } from './verification.ts';

/** The target of links in e-mails. It asks for confirmation, because mail programs open links on their own. */
export function mountVerifyEmail(serve: Serve, people: People): void {
  serve.open('/verify-email', (request) => askPage(request, request.query.get('token') ?? ''));

  serve.submit('/verify-email', async (request, form) => {
    try {
      await verifyEmail(people, form.get('token') ?? '', request.visitor);
      return { to: '/verify-email/done' };
    } catch (error) {
      return failedPage(problemOf(error));
    }
  });

  serve.open('/verify-email/done', () => ({
    title: 'Address confirmed',
    main: html`<section class="card narrow">
      <h1>Your address is confirmed</h1>
      <p>
        Your e-mail address works. Invitations to servers now appear in your profile. If you changed your address, sign
        in with the new one.
      </p>
      <p><a class="button" href="/profile">To your profile</a></p>
    </section>`,
  }));
}

function askPage(request: PageRequest, token: string): Page {
  const main = html`<section class="card narrow">
    <h1>Confirm your address</h1>
    <p>Press the button to confirm your e-mail address.</p>
    <form method="post" action="/verify-email">
      ${csrfField(request.csrf)}${hidden('token', token)}
      <button type="submit">Confirm my address</button>
    </form>
  </section>`;
  return { title: 'Confirm your address', main };
}

function failedPage(problem: Problem): Page {
  const main = html`<section class="card narrow">
    <h1>That did not work</h1>
    ${problemNote(problem)}
    <p><a class="button" href="/profile">To your profile</a></p>
  </section>`;
  return withProblem({ title: 'Confirm your address', main }, problem);
}
