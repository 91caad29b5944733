import { csrfField, hidden, problemNote } from '../../web/form.ts';
import { html } from '../../web/html.ts';
import { type Problem, problemOf, withProblem } from '../../web/problem.ts';
import type { Serve } from '../../web/serve.ts';
import type { Page, PageRequest } from '../../web/page-request.ts';
import { nextPage, signInPath } from '../next.ts';
import type { People } from '../people.ts';
import { NO_CODE, anyCodeField, codeIn } from './code-fields.ts';
import { pendingUser } from './pending-sign-in.ts';
import { signInWithCode } from './sign-in-code.ts';

const PATH = '/sign-in/code';

/** Returns the path of the page that asks for the code. */
export function codePath(next: string): string {
  return `${PATH}?next=${encodeURIComponent(next)}`;
}

/** The second step of signing in, for browsers in which the password was given. Others are sent to the first step. */
export function mountSignInCode(serve: Serve, people: People): void {
  serve.open(PATH, async (request) => {
    const next = nextPage(request.query.get('next'));
    if (request.principal) return { to: next };
    return (await isPending(request)) ? codePage(request, next) : { to: signInPath(next) };
  });

  serve.submit(PATH, async (request, form) => {
    const next = nextPage(form.get('next'));
    if (!(await isPending(request))) return { to: signInPath(next), pending: null };
    const code = codeIn(form);
    if (code === '') return codePage(request, next, NO_CODE);
    try {
      const { token, device } = await signInWithCode(people, code, request.visitor);
      return { to: next, session: token, device, pending: null };
    } catch (error) {
      return codePage(request, next, problemOf(error));
    }
  });

  async function isPending({ visitor, now }: PageRequest): Promise<boolean> {
    return (await pendingUser(people, visitor.pending, now)) !== undefined;
  }
}

function codePage(request: PageRequest, next: string, problem?: Problem): Page {
  const main = html`<section class="card narrow">
    <h1>Enter your code</h1>
    ${problemNote(problem)}
    <form method="post" action="${PATH}">
      ${csrfField(request.csrf)}${hidden('next', next)} ${anyCodeField(problem)}
      <button type="submit">Sign in</button>
    </form>
    <p class="aside">
      Lost both? Ask your administrator to reset two-factor sign-in.
      <a href="${signInPath(next)}">Start again</a>
    </p>
  </section>`;
  return withProblem({ title: 'Enter your code', main }, problem);
}
