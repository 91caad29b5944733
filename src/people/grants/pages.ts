import { StatusError } from '../../kernel/status.ts';
import { problemNote, textField } from '../../web/form.ts';
import { html } from '../../web/html.ts';
import { type Problem, invalid, problemOf, withProblem } from '../../web/problem.ts';
import type { Form, Serve } from '../../web/serve.ts';
import type { Answer, Page, SignedInRequest } from '../../web/page-request.ts';
import type { People } from '../people.ts';
import { proved } from '../proved.ts';
import { consentPage } from './consent.ts';
import type { ConsentRequest, Grants } from './grants.ts';
import { type CodeLookup, approveGrant, waitingGrant } from './session-api.ts';

export interface DevicePages extends People, CodeLookup {
  grants: Grants;
}

/**
 * Pages that connect a device: the code, the decision, and its result (RFC 8628 §3.3). Looking up a code has no side
 * effects.
 */
export function mountDevice(serve: Serve, deps: DevicePages): void {
  const { grants } = deps;
  const waiting = ({ principal, visitor }: SignedInRequest, code: string) =>
    waitingGrant(deps, code, principal, visitor.address);
  serve.signedIn('/device', async (request) => {
    const code = request.query.get('code');
    if (code === null) return codePage('');
    if (code.trim() === '') return codePage('', invalid('code', 'Enter the code shown on your device.'));
    try {
      return consentPage(request, await waiting(request, code));
    } catch (error) {
      return codePage(code, problemOf(error));
    }
  });

  serve.submitSignedIn('/device', async (request, form) => {
    const code = form.get('code') ?? '';
    try {
      const grant = await waiting(request, code);
      // Anything except an explicit approval denies.
      if (form.get('decision') !== 'approve') {
        await grants.deny(grant.id, request.principal);
        return { to: '/device/declined' };
      }
      return await approved(request, form, grant);
    } catch (error) {
      return codePage(code, problemOf(error));
    }
  });

  serve.open('/device/approved', approvedPage);
  serve.open('/device/declined', declinedPage);

  async function approved(request: SignedInRequest, form: Form, grant: ConsentRequest): Promise<Answer> {
    try {
      await approveGrant(deps, await proved(deps, request, form), grant);
      return { to: '/device/approved' };
    } catch (error) {
      // Stay on the question if only the password was wrong.
      if (!(error instanceof StatusError && OF_PASSWORD.has(error.reason))) throw error;
      const problem = problemOf(error);
      return withProblem(consentPage(request, grant, problem), problem);
    }
  }
}

/** Reasons why the repeated password was not accepted. */
const OF_PASSWORD: ReadonlySet<string> = new Set(['PASSWORD_REQUIRED', 'WRONG_PASSWORD', 'TOO_MANY_ATTEMPTS', 'BUSY']);

function codePage(code: string, problem?: Problem): Page {
  const main = html`<section class="card narrow">
    <h1>Connect a device</h1>
    <p>Apps, bots and the command line show a code to connect to your account.</p>
    ${problemNote(problem)}
    <form method="get" action="/device">
      ${textField({
        name: 'code',
        label: 'Code on your device',
        value: code.slice(0, 24),
        hint: 'Eight letters, like WDJB-MJHT. Case and the dash don’t matter.',
        maxlength: 24,
        autocomplete: 'off',
        problem,
        more: html`class="code" autocapitalize="characters" spellcheck="false"`,
      })}
      <button type="submit">Continue</button>
    </form>
    <p class="aside">Did someone send you a code? Don’t enter it: it would give them access to your account.</p>
  </section>`;
  return withProblem({ title: 'Connect a device', main }, problem);
}

function approvedPage(): Page {
  const main = html`<section class="card narrow">
    <h1>Your device is connected</h1>
    <p>It continues automatically within a few seconds. You can close this page.</p>
    <p>
      Apps show up under <a href="/profile/apps">Connected apps</a>, the command line under
      <a href="/profile/keys">API keys</a>. You can end their access there at any time.
    </p>
  </section>`;
  return { title: 'Device connected', main };
}

function declinedPage(): Page {
  const main = html`<section class="card narrow">
    <h1>Declined</h1>
    <p>The device was not connected. The code no longer works. You can close this page.</p>
  </section>`;
  return { title: 'Declined', main };
}
