import { encode } from 'uqr';
import { MINUTE_MS } from '../kernel/units.ts';
import { NO_PROSE, csrfField, doneNote, problemNote, textField } from '../web/form.ts';
import { type Html, html } from '../web/html.ts';
import type { Page, SignedInRequest } from '../web/page-request.ts';
import { type Problem, invalid, problemOf } from '../web/problem.ts';
import type { Form, Serve } from '../web/serve.ts';
import { countText, dateText } from '../web/text.ts';
import type { Accounts } from './accounts.ts';
import { REVEAL_MS, Reveals, ownPasswordField, passwordAgain, profilePage, proved } from './page-parts.ts';
import { isPasswordFresh, onlyProvider } from './passwords.ts';
import {
  CODE_CHARS,
  type Offer,
  type Proof,
  type SecondFactor,
  beginSecondFactor,
  confirmSecondFactor,
  offeredSecondFactor,
  removeOwnSecondFactor,
  renewRecoveryCodes,
  secondFactorOf,
} from './second-factor.ts';

const PATH = '/profile/second-factor';
/** With fewer recovery codes than this, the page recommends new ones. */
const FEW_CODES = 3;

const DONE: Record<string, string> = { off: 'Two-factor sign-in is off.' };

/** The caller's second factor: setup, recovery codes, removal. */
export function mountSecondFactor(serve: Serve, accounts: Accounts): void {
  const reveals = new Reveals<readonly string[]>(accounts.clock);

  serve.signedIn(PATH, (request) => overviewPage(request));

  serve.submitSignedIn(`${PATH}/begin`, async (request, form) => {
    try {
      await beginSecondFactor(accounts, await proved(accounts, request, form));
      return { to: `${PATH}/set-up` };
    } catch (error) {
      return overviewPage(request, problemOf(error));
    }
  });

  serve.signedIn(`${PATH}/set-up`, async (request) => {
    const offer = await offered(request);
    return offer ? setUpPage(request, offer) : { to: PATH };
  });

  serve.submitSignedIn(`${PATH}/set-up`, async (request, form) => {
    const offer = await offered(request);
    if (!offer) return { to: PATH };
    try {
      const codes = await confirmSecondFactor(accounts, request.principal, form.get('code') ?? '');
      reveals.put(request.principal.sessionId, codes);
      return { to: `${PATH}/codes` };
    } catch (error) {
      return setUpPage(request, offer, atCode(problemOf(error)));
    }
  });

  serve.signedIn(`${PATH}/codes`, (request) => {
    const codes = reveals.see(request.principal.sessionId);
    return codes ? codesPage(request, codes) : { to: PATH };
  });

  mountChange('new-codes', NEW_CODES, async (request, proof) => {
    const codes = await renewRecoveryCodes(accounts, request.principal, proof, request.visitor);
    reveals.put(request.principal.sessionId, codes);
    return `${PATH}/codes`;
  });

  mountChange('off', SWITCH_OFF, async (request, proof) => {
    await removeOwnSecondFactor(accounts, request.principal, proof, request.visitor);
    return `${PATH}?done=off`;
  });

  /** Mounts a page that asks for the password and a code before a change. */
  function mountChange(
    name: string,
    words: Change,
    act: (request: SignedInRequest, proof: Proof) => Promise<string>,
  ): void {
    const path = `${PATH}/${name}`;
    serve.signedIn(path, async (request) => ((await isOn(request)) ? changePage(request, path, words) : { to: PATH }));
    serve.submitSignedIn(path, async (request, form) => {
      if (!(await isOn(request))) return { to: PATH };
      const code = codeIn(form);
      if (code === '') return changePage(request, path, words, NO_CODE);
      try {
        return { to: await act(request, { password: form.get('password') ?? '', code }) };
      } catch (error) {
        return changePage(request, path, words, problemOf(error));
      }
    });
  }

  async function offered({ principal, now }: SignedInRequest): Promise<Offer | undefined> {
    return isPasswordFresh(principal, now) ? offeredSecondFactor(accounts, principal) : undefined;
  }

  async function isOn({ principal }: SignedInRequest): Promise<boolean> {
    return (await secondFactorOf(accounts.store, principal.userId)).enabledAt !== null;
  }

  async function overviewPage(request: SignedInRequest, problem?: Problem): Promise<Page> {
    const factor = await secondFactorOf(accounts.store, request.principal.userId);
    const main = html`${doneNote(DONE[request.query.get('done') ?? ''])}
    ${factor.enabledAt === null ? offCard(request, problem) : onCard(factor.enabledAt, factor)}`;
    return profilePage(request, 'Two-factor sign-in', main, problem);
  }
}

function offCard(request: SignedInRequest, problem: Problem | undefined): Html {
  return html`${
      request.principal.needsSecondFactor &&
      html`<p class="note warn">Operators need two-factor sign-in here. Set it up to open the operator pages.</p>`
    }
    <section class="card">
      <h2>Two-factor sign-in <span class="tag">off</span></h2>
      <p>
        Sign-in then asks for your password and a code from an app on your phone. Your password alone is then not
        enough.
      </p>
      <p>
        You need an authenticator app: Aegis, 2FAS, Google Authenticator, or your password manager. Your other browsers
        are signed out. API keys and connected apps keep working.
      </p>
      ${problemNote(problem)}
      <form method="post" action="${PATH}/begin">
        ${csrfField(request.csrf)} ${passwordAgain(request, problem, 'You signed in a while ago.')}
        <button type="submit">Set it up</button>
      </form>
    </section>`;
}

function onCard(enabledAt: number, { recoveryCodes }: SecondFactor): Html {
  return html`<section class="card">
    <h2>Two-factor sign-in <span class="tag good">on</span></h2>
    <p>Since ${dateText(enabledAt)}, signing in asks for your password and a code.</p>
    <p class="${recoveryCodes < FEW_CODES ? 'note warn' : ''}">
      ${countText(recoveryCodes, 'recovery code is', 'recovery codes are')} left, in case you don’t have your phone.
    </p>
    <p class="actions">
      <a class="button second" href="${PATH}/new-codes">Create new recovery codes</a>
      <a class="button second" href="${PATH}/off">Turn it off</a>
    </p>
  </section>`;
}

function setUpPage(request: SignedInRequest, { key, uri }: Offer, problem?: Problem): Page {
  const main = html`<section class="card">
      <h2>1. Add Dormouse to your app</h2>
      <p>Scan this with your authenticator app:</p>
      ${qrCode(uri, 'QR code for an authenticator app, same as the key below')}
      <p>
        Or type in this key: <code class="key">${key.replaceAll(/.{4}(?=.)/g, '$& ')}</code> (time-based, six digits).
        On the phone itself, <a href="${uri}">open the app with it</a>.
      </p>
    </section>
    <section class="card">
      <h2>2. Enter a code from the app</h2>
      ${problemNote(problem)}
      <form method="post" action="${PATH}/set-up">
        ${csrfField(request.csrf)} ${codeField(problem)}
        <button type="submit">Turn it on</button>
      </form>
      <p class="aside"><a href="${PATH}">Not now</a></p>
    </section>`;
  return profilePage(request, 'Set up two-factor sign-in', main, problem);
}

function codesPage(request: SignedInRequest, codes: readonly string[]): Page {
  const main = html`<section class="card">
    <h2>Your recovery codes</h2>
    <p class="note warn">
      <strong>Keep them now.</strong> They are shown only here for ${REVEAL_MS / MINUTE_MS} minutes. You need them if
      you lose your phone.
    </p>
    <p>Each code signs you in once. Print them or store them in a password manager.</p>
    <ul class="codes">
      ${codes.map((code) => html`<li><code>${code}</code></li>`)}
    </ul>
    <p><a class="button" href="${PATH}">I saved them</a></p>
  </section>`;
  return profilePage(request, 'Recovery codes', main);
}

/** Texts of a page that asks for password and code. */
interface Change {
  title: string;
  about: string;
  button: Html;
}

const NEW_CODES: Change = {
  title: 'Create new recovery codes',
  about: 'You get ten new codes. The old ones stop working.',
  button: html`<button type="submit">Create new codes</button>`,
};

const SWITCH_OFF: Change = {
  title: 'Turn off two-factor sign-in',
  about: 'Sign-in then asks only for your password. Your recovery codes stop working.',
  button: html`<button class="danger" type="submit">Turn it off</button>`,
};

function changePage(request: SignedInRequest, path: string, { title, about, button }: Change, problem?: Problem): Page {
  const proof =
    onlyProvider(request.principal) === undefined
      ? ownPasswordField(request.principal.email, 'Password', problem)
      : passwordAgain(request, problem);
  const main = html`<section class="card">
    <p>${about}</p>
    ${problemNote(problem)}
    <form method="post" action="${path}">${csrfField(request.csrf)} ${proof} ${anyCodeField(problem)} ${button}</form>
    <p class="aside"><a href="${PATH}">Back</a></p>
  </section>`;
  return profilePage(request, title, main, problem);
}

/** Shows a wrong code's message next to the field. */
function atCode(problem: Problem): Problem {
  return problem.status === 403 ? { ...problem, ...invalid('code', problem.message) } : problem;
}

/** Width of the white border in modules (ISO/IEC 18004). */
const QUIET_ZONE = 4;

/**
 * Returns a text as an inline QR code, because the pages' policy only allows our own pictures; `label` is for screen
 * readers.
 */
export function qrCode(text: string, label: string): Html {
  const { data, size } = encode(text, { ecc: 'M', border: QUIET_ZONE });
  const bars = data.flatMap((row, y) => {
    const dark = row.map((each) => (each ? '#' : ' ')).join('');
    return Array.from(dark.matchAll(/#+/g), ({ index, 0: { length } }) => `M${index} ${y}h${length}v1h-${length}z`);
  });
  return html`<svg
    class="qr"
    role="img"
    aria-label="${label}"
    viewBox="0 0 ${size} ${size}"
    shape-rendering="crispEdges"
  >
    <path d="${bars.join('')}" />
  </svg>`;
}

/** The field for an app's code. Phones show a numeric keyboard. */
function codeField(problem: Problem | undefined, required = true): Html {
  return textField({
    name: 'code',
    label: 'Code',
    hint: 'The six digits that your app shows now.',
    maxlength: CODE_CHARS,
    autocomplete: 'one-time-code',
    problem,
    required,
    more: html`class="code" inputmode="numeric" spellcheck="false"`,
  });
}

/** A field for an app's code, with one for a recovery code below. */
export function anyCodeField(problem: Problem | undefined): Html {
  return html`${codeField(problem, false)}
    <details ${problem?.field === 'recovery' && html`open`}>
      <summary>Use a recovery code instead</summary>
      ${textField({
        name: 'recovery',
        label: 'Recovery code',
        hint: 'One of the codes you saved during setup, such as k7m2x-9qwrt. Each works once.',
        maxlength: CODE_CHARS,
        autocomplete: 'off',
        problem,
        required: false,
        more: NO_PROSE,
      })}
    </details>`;
}

/** Returns the value of either field; '' without one. */
export function codeIn(form: Form): string {
  return form.get('recovery')?.trim() || (form.get('code')?.trim() ?? '');
}

/** The problem if neither field is filled in. */
export const NO_CODE = invalid('code', 'Enter the code that your app shows, or a recovery code.');
