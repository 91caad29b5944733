import type { Accounts } from '../accounts/accounts.ts';
import { cardPage, passwordAgain, proved } from '../accounts/page-parts.ts';
import { SCOPES, isScope } from '../http/scopes.ts';
import { StatusError } from '../kernel/status.ts';
import { csrfField, hidden, problemNote, textField } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Answer, Page, SignedInRequest } from '../web/page-request.ts';
import { type Problem, invalid, problemOf, withProblem } from '../web/problem.ts';
import type { Form, Serve } from '../web/serve.ts';
import { agoText, homepageLink, instantText, plainName } from '../web/text.ts';
import { type CodeLookup, approveGrant, waitingGrant } from './consent-api.ts';
import type { ConsentRequest } from './grants.ts';

/**
 * Pages that connect a device: the code, the decision, and its result (RFC 8628 §3.3). Looking up a code has no side
 * effects.
 */
export function mountDevice(serve: Serve, deps: Accounts & CodeLookup): void {
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
  return cardPage(
    'Connect a device',
    html`<p>Apps, bots and the command line show a code to connect to your account.</p>
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
      <p class="aside">Did someone send you a code? Don’t enter it: it would give them access to your account.</p>`,
    problem,
  );
}

function approvedPage(): Page {
  return cardPage(
    'Device connected',
    html`<p>It continues automatically within a few seconds. You can close this page.</p>
      <p>
        Apps show up under <a href="/profile/apps">Connected apps</a>, the command line under
        <a href="/profile/keys">API keys</a>. You can end their access there at any time.
      </p>`,
    undefined,
    'Your device is connected',
  );
}

function declinedPage(): Page {
  return cardPage(
    'Declined',
    html`<p>The device was not connected. The code no longer works. You can close this page.</p>`,
  );
}

/**
 * The page on which a user approves or denies a device: the requester, the account, the scope, the origin, and the code
 * to compare (RFC 8628 §5.4). Denying is as easy as approving (RFC 10027), and neither is preselected.
 */
function consentPage(request: SignedInRequest, grant: ConsentRequest, problem?: Problem): Page {
  const { userCode, client } = grant;
  const here = `/device?code=${userCode}`;
  const main = html`<section class="card consent">
    ${client ? appHeading(client) : COMMAND_LINE_HEADING}
    <div class="compare">
      <p id="compare">Does this code match the one on your device?</p>
      <p class="code" aria-describedby="compare">${userCode}</p>
    </div>
    ${client ? appReach(grant.scopes) : COMMAND_LINE_REACH} ${origin(request, grant)}
    <p class="note warn">
      <strong>Only continue if you started this yourself.</strong> If someone sent you the code or the link to this
      page, decline: it would give them access.
    </p>
    ${problemNote(problem)}
    <form class="choice" method="post" action="/device">
      ${csrfField(request.csrf)}${hidden('code', userCode)}
      ${!client && passwordAgain({ ...request, path: here }, problem)}
      <button class="second" type="submit" formnovalidate name="decision" value="deny">Decline</button>
      <button type="submit" name="decision" value="approve">Approve</button>
    </form>
    <form class="aside" method="post" action="/sign-out">
      ${csrfField(request.csrf)}${hidden('next', here)}
      <p>
        You are signed in as <strong>${request.principal.email}</strong>.
        <button class="link" type="submit">Use another account</button>
      </p>
    </form>
  </section>`;
  return { title: 'Connect a device', main };
}

function appHeading({ name, homepage }: NonNullable<ConsentRequest['client']>): Html {
  const link = homepageLink(homepage);
  return html`<h1>Let <bdi>${plainName(name) || 'an app without a name'}</bdi> see your servers?</h1>
    <p>
      ${
        link
          ? html`Its homepage is <a href="${link.href}" rel="noopener noreferrer nofollow">${link.host}</a>.`
          : 'It has no homepage.'
      }
      The operator has registered it. That alone does not make it trustworthy.
    </p>`;
}

const COMMAND_LINE_HEADING = html`<h1>Give a command line full access to your account?</h1>
  <p>The Dormouse command line requests access and is waiting for your answer.</p>`;

const COMMAND_LINE_REACH = html`<p class="note bad">
    <strong>This is full access to your account.</strong> Anyone with the device can do nearly everything you can:
  </p>
  <ul>
    <li>create, start, stop, change and delete your servers, and read and write their files and backups,</li>
    <li>run console commands, and invite and remove members,</li>
    <li>see your e-mail address, your wallet and your bills, and set your spend cap.</li>
  </ul>
  <p>It can’t change your password or create more API keys.</p>`;

function appReach(scopes: readonly string[]): Html {
  const others = scopes.filter(isScope).filter((scope) => scope !== 'servers:list');
  return html`<h2>It will read</h2>
    <ul>
      <li>your e-mail address</li>
      ${
        scopes.includes('servers:list') &&
        html`<li>
          the list of your servers and of those shared with you: status, software, version, region, players online, your
          role, and the address to join
        </li>`
      }
      ${others.map((scope) => html`<li>${SCOPES[scope]}</li>`)}
    </ul>
    <h2>It cannot</h2>
    <ul>
      <li>start, stop, change or delete servers</li>
      <li>see billing</li>
    </ul>`;
}

function origin(request: SignedInRequest, { ip, userAgent, createdAt, expiresAt }: ConsentRequest): Html {
  const near = ip === request.visitor.address;
  return html`<dl>
    <dt>Account</dt>
    <dd>${request.principal.email}</dd>
    <dt>Requested</dt>
    <dd>
      ${agoText(createdAt, request.now)} (${instantText(createdAt)}); the code expires at ${instantText(expiresAt)}
    </dd>
    <dt>Requested from</dt>
    <dd><bdi>${ip}</bdi>, ${near ? 'the same address as yours' : html`<strong>not your address</strong>`}</dd>
    <dt>Calls itself</dt>
    <dd><bdi>${plainName(userAgent, 80) || 'nothing'}</bdi></dd>
  </dl>`;
}
