import type { Call, Calls } from '../../http/calls.ts';
import type { ReplyOf } from '../../http/operation.ts';
import type { Download } from '../../http/download.ts';
import { BROWSER_PREFIX } from '../../http/session/browser-mount.ts';
import type { Role } from '../../http/roles.ts';
import { doneNote, problemNote } from '../form.ts';
import { type Html, html } from '../html.ts';
import type { Answer, Page, Redirect, SignedInRequest } from '../page-request.ts';
import { type Problem, problemOf, withProblem } from '../problem.ts';
import type { Awaitable, Form, Serve } from '../serve.ts';
import { addressOf } from './form.ts';
import { live, liveNote, serverFrame } from './server-frame.ts';
import { GetServer } from '../../servers/api/servers.ts';

/** A request for a page of the panel. */
export interface PanelRequest extends SignedInRequest {
  /** Calls an operation of the API for the signed-in user. */
  call: Call;
  /** The page's path, which prefixes those of its forms: `/servers/castle/backups`. */
  here: string;
  /** The submitted values of a failed form, to show again. */
  sent: Form | undefined;
  /** Why that form failed. */
  problem: Problem | undefined;
  /** The name of that form among the page's. */
  failed: string | undefined;
  /** The message of the form that redirected here. */
  done: string | undefined;
}

/** A request for a page of a server that the caller can access. */
export interface ServerRequest extends PanelRequest {
  server: ReplyOf<typeof GetServer>;
  /** The caller's role on it. Only for display: each operation checks it itself. */
  role: Role;
  /** As last observed; 0 if unknown. */
  playersOnline: number;
}

/**
 * The result of a form: a key of `done`, whose message its page shows; a page to show at once, for a secret shown only
 * once; or the next page.
 */
export type Outcome = string | Answer;

/** A page with its forms. */
export interface PanelPage<Request extends PanelRequest = PanelRequest> {
  /** Its path. For a server's page, the part after `/servers/:id`; '' for the main page. */
  path: string;
  show: (request: Request) => Awaitable<Page | Redirect>;
  /**
   * The actions of its forms, by the last part of their address (`panelForm`). A StatusError is shown on the page with
   * the submitted values.
   */
  forms?: Readonly<Record<string, (request: Request, form: Form) => Awaitable<Outcome>>>;
  /** Success messages of its forms. */
  done?: Readonly<Record<string, string>>;
  /** The stream whose events may change the parts marked `data-live`. A server's pages use the server's stream. */
  stream?: string | ((request: PanelRequest) => string);
  /** The size limit of a form, if larger than a few lines. */
  formBytes?: number;
  /** Whether the page itself shows its live state. */
  saysLive?: boolean;
  /** Whether other pages do not link to it. */
  unlinked?: boolean;
  /** The forms with files of any length, available in `Form.uploads`. */
  streamed?: readonly string[];
}

/** Mounts the pages for signed-in users. They use only the API's operations. */
export interface Panel {
  page(page: PanelPage): void;
  /** Adds a page of a server, below the server's header and beside the links to its other pages. */
  serverPage(page: PanelPage<ServerRequest>): void;
  /** Adds a download of a server. `path` is relative, as for its pages. */
  serverFile(path: string, open: (request: ServerRequest) => Awaitable<Download>): void;
}

export function createPanel(serve: Serve, calls: Calls): Panel {
  const paths = new Set<string>();

  return {
    page(page) {
      const frame = (request: PanelRequest, shown: Page): Page => ({
        ...shown,
        main: html`<div
          class="panel"
          id="page"
          data-csrf="${request.csrf}"
          data-here="${addressOf(request)}"
          data-now="${request.now}"
          ${streamOf(page, request)}
        >
          ${page.stream !== undefined && !page.saysLive && liveNote()}${notes(request)}${shown.main}
        </div>`,
      });
      mount(page.path, page, (request) => request, frame);
    },
    serverPage(page) {
      if (!page.unlinked) paths.add(page.path);
      const frame = (request: ServerRequest, shown: Page): Page =>
        serverFrame(request, { ...shown, main: html`${notes(request)}${shown.main}` }, paths);
      mount(`/servers/:id${page.path}`, page, reach, frame);
    },
    serverFile(path, open) {
      serve.signedIn(`/servers/:id${path}`, async (signedIn) => ({
        download: await open(await reach(requestOf(signedIn, 0))),
      }));
    },
  };

  function mount<Request extends PanelRequest>(
    path: string,
    { show, forms = {}, done = {}, formBytes, streamed = [] }: PanelPage<Request>,
    prepare: (request: PanelRequest) => Awaitable<Request>,
    frame: (request: Request, shown: Page) => Page,
  ): void {
    const pageOf = (request: Request, shown: Page): Page => withProblem(live(frame(request, shown)), request.problem);
    const shownTo = async (request: Request): Promise<Answer> => {
      const shown = await show(request);
      return 'main' in shown ? pageOf(request, shown) : shown;
    };
    serve.signedIn(path, async (signedIn) => {
      const reached = await prepare(requestOf(signedIn, 0));
      return shownTo({ ...reached, done: done[reached.query.get('done') ?? ''] });
    });
    for (const [name, act] of Object.entries(forms)) {
      serve.submitSignedIn(
        `${path}/${name}`,
        async (signedIn, form): Promise<Answer> => {
          const request = await prepare(requestOf(signedIn, 1));
          try {
            const outcome = await act(request, form);
            if (typeof outcome === 'string') return { to: backTo(request, outcome) };
            return 'main' in outcome ? pageOf(request, outcome) : outcome;
          } catch (error) {
            return shownTo({ ...(await prepare(request)), sent: form, problem: problemOf(error), failed: name });
          }
        },
        streamed.includes(name) ? 'streamed' : formBytes,
      );
    }
  }

  /** `below`: number of segments in the form's address after the page's. */
  function requestOf(request: SignedInRequest, below: number): PanelRequest {
    const [path = ''] = request.path.split('?', 1);
    const here = below === 0 ? path : path.slice(0, path.lastIndexOf('/'));
    return {
      ...request,
      here,
      call: calls(request.principal, request.signal),
      sent: undefined,
      problem: undefined,
      failed: undefined,
      done: undefined,
    };
  }

  async function reach(request: PanelRequest): Promise<ServerRequest> {
    const { id = '' } = request.params;
    const server = await request.call(GetServer, { id });
    return { ...request, server, role: server.role as Role, playersOnline: server.playersOnline ?? 0 };
  }
}

/** Returns the attribute that names a page's stream. */
function streamOf({ stream }: PanelPage, request: PanelRequest): Html | false {
  if (stream === undefined) return false;
  return html`data-stream="${BROWSER_PREFIX}${typeof stream === 'string' ? stream : stream(request)}"`;
}

function notes({ done, problem }: PanelRequest): Html {
  return html`${doneNote(done)}${problemNote(problem)}`;
}

/** Returns the address of the page with a success message. */
function backTo({ here, query }: PanelRequest, done: string): string {
  const kept = new URLSearchParams(query);
  kept.set('done', done);
  return `${here}?${kept.toString()}`;
}
