import { type Html, html } from '../web/html.ts';
import { type Problem, withProblem } from '../web/problem.ts';
import type { Page, PageRequest } from '../web/page-request.ts';

const TABS = [
  ['/profile', 'Profile'],
  ['/profile/second-factor', 'Two-factor sign-in'],
  ['/profile/keys', 'API keys'],
  ['/profile/ssh', 'SSH keys'],
  ['/profile/apps', 'Connected apps'],
  ['/profile/sessions', 'Sessions'],
  ['/profile/invitations', 'Invitations'],
  ['/profile/audit', 'Audit log'],
] as const;

/** Returns a profile page below the links to the others. */
export function profilePage({ path }: PageRequest, title: string, main: Html, problem?: Problem): Page {
  const [here = ''] = path.split('?', 1);
  const present = TABS.findLast(([tab]) => here === tab || here.startsWith(`${tab}/`))?.[0];
  const framed = html`<div class="profile">
    <div class="card head">
      <h1>${title}</h1>
      <nav class="tabs" aria-label="Profile">
        <ul>
          ${TABS.map(
            ([tab, name]) =>
              html`<li><a href="${tab}" ${tab === present && html`aria-current="page"`}>${name}</a></li>`,
          )}
        </ul>
      </nav>
    </div>
    ${main}
  </div>`;
  return withProblem({ title, main: framed }, problem);
}
