import { ASSETS } from './assets.ts';
import { csrfField } from './form.ts';
import { type Html, html, scriptFile } from './html.ts';
import type { Page, PageRequest, SidePages } from './page-request.ts';

/** The part of a request that determines a page's frame. */
type Surroundings = Pick<PageRequest, 'principal' | 'csrf' | 'signIn' | 'path' | 'isFree'>;

/** The surroundings of pages that do not look up the session. */
export const VISITOR: Surroundings = { principal: undefined, csrf: '', signIn: '/sign-in', path: '', isFree: false };

/** Returns a complete page: the common frame with navigation around its content. */
export function layout(page: Page, request: Surroundings): Html {
  const { title, main, pages, styles = [], libraries = [], scripts = [], reloadSeconds } = page;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>${title} · Dormouse</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <meta name="theme-color" content="#211c47" />
        <meta name="robots" content="noindex" />
        ${reloadSeconds !== undefined && html`<noscript><meta http-equiv="refresh" content="${reloadSeconds}" /></noscript>`}
        <link rel="icon" type="image/svg+xml" href="${ASSETS.logo}" />
        <link rel="stylesheet" href="${ASSETS.style}" />
        ${styles.map((each) => html`<link rel="stylesheet" href="${each}" />`)}
        ${libraries.map((each) => scriptFile(each, false))} ${scripts.map((each) => scriptFile(each))}
      </head>
      <body>
        <a class="skip" href="#main">Skip to content</a>
        <header class="top">
          <a class="brand" href="/"><img src="${ASSETS.logo}" alt="" width="32" height="32" /><span>Dormouse</span></a>
          ${pages && sheetButton(pages)} ${navigation(request)}
        </header>
        <div class="frame">
          ${pages && rail(pages)}
          <main id="main" tabindex="-1">${main}</main>
        </div>
        <footer>
          <p>Dormouse hosts Minecraft servers that sleep until someone joins.</p>
          <p><a href="/">Home</a> · <a href="/docs">The API</a></p>
        </footer>
      </body>
    </html> `;
}

/** The links to all parts of the panel. On narrow screens, a button opens them as a popover, which needs no script. */
function navigation({ principal, csrf, signIn, path, isFree }: Surroundings): Html {
  if (!principal) {
    return html`<nav class="menu" aria-label="Main">
      <a href="/docs">API</a>
      <a href="${signIn}">Sign in</a>
    </nav>`;
  }
  const link = (href: string, label: string) =>
    html`<a href="${href}" ${isBelow(path, href) && html`aria-current="true"`}>${label}</a>`;
  return html`<button class="opens" type="button" popovertarget="menu">Menu</button>
    <nav class="menu" id="menu" popover aria-label="Main">
      ${link('/servers', 'Servers')} ${link('/bill', isFree ? 'Limits' : 'Bill')}
      ${principal.operator && link('/operator', 'Operator')} ${link('/docs', 'API')}
      ${link('/device', 'Connect a device')} ${link('/profile', 'Profile')}
      <form method="post" action="/sign-out">${csrfField(csrf)}<button type="submit">Sign out</button></form>
    </nav>`;
}

function isBelow(path: string, top: string): boolean {
  return path.startsWith(top) && /^(?:$|[/?])/.test(path.slice(top.length));
}

/** Opens the links of `rail` on narrow screens. Named after the current page. */
function sheetButton({ groups }: SidePages): Html {
  const current = groups.flatMap(({ links }) => links).find(({ isCurrent }) => isCurrent);
  return html`<button class="opens" type="button" popovertarget="pages">
    ${current?.label ?? 'Pages'}<span class="unseen"> (all pages)</span>
  </button>`;
}

/** The links to the pages beside this one: a column on wide screens, a popover on narrow ones. */
function rail({ label, groups, note }: SidePages): Html {
  return html`<nav class="rail" id="pages" popover aria-label="${label}">
    ${groups.map(
      ({ name, links }, nth) =>
        html`${name !== undefined && html`<p class="kicker" id="pages-${nth}">${name}</p>`}
          <ul ${name !== undefined && html`aria-labelledby="pages-${nth}"`}>
            ${links.map(
              ({ href, label: text, isCurrent }) =>
                html`<li><a href="${href}" ${isCurrent && html`aria-current="page"`}>${text}</a></li>`,
            )}
          </ul>`,
    )}
    ${note}
  </nav>`;
}

/**
 * The policy of static pages: no scripts, only our own styles and pictures, forms only to us, no framing (W3C CSP Level
 * 3).
 */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/** The policy of live pages: also allows our own scripts and requests to us. */
export const LIVE_PAGE_POLICY = `${CONTENT_SECURITY_POLICY}; script-src 'self'; connect-src 'self'`;

/** The headers of every page. */
export function pageHeaders(baseUrl: string): Record<string, string> {
  return {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': CONTENT_SECURITY_POLICY,
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
    'Referrer-Policy': referrerPolicy(baseUrl),
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  };
}

/**
 * Page addresses contain codes, so they must not be sent to other sites. Under `no-referrer`, however, a form's
 * `Origin` is `null`. Our forms can then be recognised by `Sec-Fetch-Site`, but browsers send that only to https and
 * this machine (Fetch §3.2.6, Fetch Metadata §2). A plain http installation elsewhere therefore uses a policy that
 * sends the origin to us, and nothing to other sites.
 */
function referrerPolicy(baseUrl: string): string {
  const { protocol, hostname } = new URL(baseUrl);
  const trustworthy = protocol === 'https:' || /^(?:(?:.+\.)?localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
  return trustworthy ? 'no-referrer' : 'same-origin';
}
