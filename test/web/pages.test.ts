import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { REVEAL_MS, Reveals } from '../../src/accounts/page-parts.ts';
import { MOST_SENT_BYTES } from '../../src/servers/pages/settings/description.ts';
import { siteRouter } from '../../src/web/site.ts';
import { sessionCookie } from '../../src/http/session/session-cookie.ts';
import { PASSWORD_FRESH_MS } from '../../src/accounts/passwords.ts';
import { LOGIN_RULES } from '../../src/accounts/login-limits.ts';
import { nextPage } from '../../src/accounts/next.ts';
import { pageHeaders } from '../../src/web/layout.ts';
import { escapeHtml, html } from '../../src/web/html.ts';
import { browserText, homepageLink, plainName } from '../../src/web/text.ts';
import { fakeClock } from '../fakes/clock.ts';
import { routesOf } from '../support/routes.ts';
import * as fc from '../support/property.ts';
import { type Site, openSite } from './site.ts';

const CSP =
  "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
const NASTY = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({
    unit: fc.constantFrom('<', '>', '"', "'", '&', '/', '=', '`', ' ', 'a', '\0', '\u202e', '\ud800', '-->'),
  }),
);

test('html escapes every interpolated value as text, in content and in attributes', (t) => {
  fc.assert(
    fc.property(NASTY, (text) => {
      const seen = text.toWellFormed().replaceAll('\0', '\ufffd');
      const [, attribute = '', inner = ''] = /^<p title="([^"<>']*)">([^<>"']*)<\/p>$/.exec(
        html`<p title="${text}">${text}</p>`.toString(),
      ) ?? [null, '?', '?'];
      t.is(unescaped(attribute), seen);
      t.is(unescaped(inner), seen);
      t.is(
        html`<p>${[text, html`<b>${text}</b>`]}</p>`.toString(),
        `<p>${escapeHtml(text)}<b>${escapeHtml(text)}</b></p>`,
      );
    }),
  );
  t.is(html`<p>${0}${null}${undefined}${false}${[]}</p>`.toString(), '<p>0</p>');
});

test('html refuses a template that places a value outside text, whatever the value', (t) => {
  // Use another name, or the formatter would repair the templates.
  const raw = html;
  const x = 'x';
  const refused = [
    () => raw`<p title=${x}></p>`,
    () => raw`<p title='${x}'></p>`,
    () => raw`<${x}>`,
    () => raw`<p ${x}></p>`,
    () => raw`<p title="${raw`<b>x</b>`}"></p>`,
    () => raw`<script>${x}</script>`,
    () => raw`<style>${x}</style>`,
    () => raw`<!-- ${x} -->`,
    () => raw`<p title="${x}`,
  ];
  for (const [nth, make] of refused.entries()) t.throws(make, { instanceOf: TypeError }, String(nth));
  t.is(raw`<input ${raw`checked`} ${false}>`.toString(), '<input checked >');
});

test('plainName returns one short line without control or invisible characters', (t) => {
  fc.assert(
    fc.property(fc.oneof(NASTY, fc.string({ maxLength: 3_000, unit: 'grapheme' })), (text) => {
      const name = plainName(text);
      t.true(Array.from(name).length <= 60);
      t.notRegex(name, /[\p{Cc}\p{Cf}\p{Cs}\u2066-\u2069\u202a-\u202e]/u);
      t.is(plainName(name), name);
    }),
  );
  t.is(plainName('Block\u202e\u2066 Launcher\u0007\u200b'), 'Block Launcher');
  t.is(plainName(`Z${'\u0300'.repeat(500)}`), 'Z\u0300\u0300');
  t.is(plainName('x'.repeat(10_000)), `${'x'.repeat(59)}…`);
  t.is(plainName(' \n\t\u3164'), '');
  t.is(plainName('Block \u200b Launcher'), 'Block Launcher', 'blanks around an invisible character are merged');
});

test('homepageLink links only https pages, and shows their real host', (t) => {
  t.deepEqual(homepageLink('https://Bücher.example/a?b'), {
    href: 'https://xn--bcher-kva.example/a?b',
    host: 'xn--bcher-kva.example',
  });
  const others = [
    'http://a.example',
    'javascript:alert(1)',
    'data:text/html,x',
    'https://dormouse.example@evil.example',
    '',
    '//x',
  ];
  for (const other of others) t.is(homepageLink(other), undefined);
});

test('sign-in continues only to pages of this site', (t) => {
  fc.assert(
    fc.property(fc.oneof(NASTY, fc.webUrl(), fc.webPath()), (wanted) => {
      t.regex(
        nextPage(wanted),
        /^\/(?:device(?:\?code=[A-Z]{4}-[A-Z]{4})?|profile(?:\/[\w-]+)?|operator(?:\/(?:machines|accounts)\/[\w-]+)?|bill(?:\/ledger)?|servers(?:\/[a-z0-9-]+(?:\/[a-z]+)?)?)$/,
      );
    }),
  );
  t.is(nextPage('/device?code=wdjb mjht&x=y'), '/device?code=WDJB-MJHT');
  t.is(nextPage('/device?code=nonsense'), '/device');
  t.is(nextPage('/profile/keys'), '/profile/keys');
  t.is(nextPage('/profile/second-factor/begin'), '/profile/second-factor', 'a form leads back to its page');
  t.is(nextPage('/operator/accounts/acc_1'), '/operator/accounts/acc_1');
  t.is(nextPage('/servers/castle/backups'), '/servers/castle/backups');
  t.is(nextPage('/servers/castle/backups/delete?a'), '/servers/castle/backups', 'a form leads back to its page');
  t.is(nextPage('/servers/castle/start'), '/servers/castle');
  t.is(nextPage('/servers/CASTLE/../x'), '/servers');
  for (const foreign of ['//evil.example', '/\\evil.example', 'https://evil.example', '/profile/../sign-out', null]) {
    t.is(nextPage(foreign), '/servers');
  }
});

test('a secret is shown only to its session, and only for a while', async (t) => {
  const clock = fakeClock(0);
  const reveals = new Reveals<string>(clock);
  reveals.put('a', 'first');
  reveals.put('a', 'second');
  t.is(reveals.see('a'), 'second');
  t.is(reveals.see('b'), undefined);
  await clock.advance(REVEAL_MS);
  t.is(reveals.see('a'), undefined);
});

test('browserText names a browser and its system', (t) => {
  t.is(
    browserText('Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0'),
    'Edge on Windows',
  );
  t.is(
    browserText(
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605 Version/18.0 Mobile/1 Safari/604',
    ),
    'Safari on iOS',
  );
  t.is(browserText('curl/8.0\u202e'), 'curl/8.0');
  t.is(browserText(''), 'An unknown browser');
});

test('every pair of text colours meets WCAG AA contrast, in light and dark', (t) => {
  const css = readFileSync(join(import.meta.dirname, '../../src/web/assets/style.css'), 'utf8');
  const palettes = [...css.matchAll(/:root \{([^}]*)\}/g)].map(([, body = '']) =>
    Object.fromEntries(
      [...body.matchAll(/--([\w-]+): (#[\da-f]{6});/g)].map(([, name = '', colour = '']) => [name, colour]),
    ),
  );
  const written: Record<string, string[]> = {
    ink: ['card', 'ground', 'sunken', 'bad-ground'],
    soft: ['card', 'ground', 'sunken'],
    link: ['card', 'ground', 'sunken', 'warn-ground'],
    bad: ['card', 'bad-ground'],
    good: ['good-ground'],
    warn: ['warn-ground'],
    'on-accent': ['accent', 'accent-over'],
    'on-danger': ['danger', 'danger-over'],
    'on-night': ['night'],
  };
  // WCAG 1.4.11: graphics that only have to be distinguishable.
  const drawn: Record<string, string[]> = { line: ['card'], ring: ['card', 'ground', 'sunken'], accent: ['card'] };
  t.is(palettes.length, 2);
  for (const palette of palettes) {
    for (const [pairs, least] of [
      [written, 4.5],
      [drawn, 3],
    ] as const) {
      for (const [front, backs] of Object.entries(pairs)) {
        for (const back of backs) {
          const ratio = contrast(palette[front] ?? '', palette[back] ?? '');
          t.true(ratio >= least, `${front} on ${back}: ${ratio.toFixed(2)}`);
        }
      }
    }
  }
});

test('every page has headers against caching, framing and foreign scripts', async (t) => {
  const site = await openSite(t);
  const reader = await signedUp(site);
  const { user_code: code } = await site.startDevice();
  const paths = [
    '/',
    '/nothing',
    '/verify-email?token=x',
    '/sign-in',
    ...getPaths(site),
    `/device?code=${code}`,
    '/device?code=x',
  ];
  for (const headers of [{}, { cookie: reader.cookie }] as { cookie?: string }[]) {
    for (const path of paths) {
      const reply = await fetch(site.origin + path, {
        headers: { ...headers, accept: 'text/html' },
        redirect: 'manual',
      });
      const isLive =
        path === '/docs' ||
        (['/servers', '/servers/new', '/servers/new/import', '/bill', '/profile/audit', '/profile/webhooks'].includes(
          path,
        ) &&
          headers.cookie !== undefined);
      const policy = isLive ? `${CSP}; script-src 'self'; connect-src 'self'` : CSP;
      t.is(reply.headers.get('content-security-policy'), policy, path);
      t.is(reply.headers.get('x-frame-options'), 'DENY', path);
      t.is(reply.headers.get('referrer-policy'), 'no-referrer', path);
      t.is(reply.headers.get('cross-origin-opener-policy'), 'same-origin', path);
      t.is(reply.headers.get('x-content-type-options'), 'nosniff', path);
      // A page that is the same for all visitors may be cached and revalidated.
      const shared = path === '/docs' && headers.cookie === undefined ? 'no-cache' : 'no-store';
      const kept = path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : shared;
      t.is(reply.headers.get('cache-control'), kept, path);
      t.true([200, 303, 404].includes(reply.status), `${path}: ${reply.status}`);
    }
  }
  t.is(pageHeaders('https://d.example')['Referrer-Policy'], 'no-referrer');
  t.is(pageHeaders('http://localhost:8080')['Referrer-Policy'], 'no-referrer');
  // Over plain HTTP, browsers send only Origin without Sec-Fetch-Site, and no-referrer would make Origin null.
  t.is(pageHeaders('http://192.168.1.5:8080')['Referrer-Policy'], 'same-origin');
});

test('the API page has a stable ETag for visitors, and a signed-in reader gets their own version', async (t) => {
  const site = await openSite(t);
  const { cookie } = await signedUp(site);
  const ask = async (headers: Record<string, string>) => {
    const reply = await fetch(`${site.origin}/docs`, { headers: { accept: 'text/html', ...headers } });
    return {
      status: reply.status,
      etag: reply.headers.get('etag'),
      vary: reply.headers.get('vary'),
      text: await reply.text(),
    };
  };
  const first = await ask({});
  t.like(first, { status: 200, vary: 'Cookie, Accept-Encoding' });
  t.like(await ask({}), first);
  t.like(await ask({ 'if-none-match': first.etag ?? '' }), { status: 304, etag: first.etag, text: '' });
  t.like(await ask({ 'if-none-match': '"another"' }), { status: 200 });
  const own = await ask({ cookie, 'if-none-match': first.etag ?? '' });
  t.is(own.status, 200);
  t.regex(own.text, /action="\/sign-out"/);
  t.false((await ask({})).text.includes(`action="/sign-out"`));
});

test('assets are named after their content hash and reference no other site', async (t) => {
  const site = await openSite(t);
  const assets = getPaths(site).filter((path) => path.startsWith('/assets/'));
  t.true(assets.length >= 6);
  for (const path of assets) {
    const body = Buffer.from(await (await fetch(site.origin + path)).arrayBuffer());
    t.true(path.includes(createHash('sha256').update(body).digest('hex').slice(0, 12)));
    t.notRegex(
      // Ignore XML namespaces and the source addresses in package headers: browsers do not request them.
      body.toString().replace(/http:\/\/www\.w3\.org\/(?:2000\/svg|1999\/xhtml)|^\/\*!.*?\*\//gs, ''),
      /https?:|@import|url\(/,
    );
  }
});

test('an unknown address returns a 404 page to browsers and an API error to programs', async (t) => {
  const site = await openSite(t);
  const browser = await fetch(`${site.origin}/nothing/<b>`, { headers: { accept: 'text/html,*/*;q=0.8' } });
  t.is(browser.status, 404);
  t.regex(await browser.text(), /Page not found/);
  const program = await fetch(`${site.origin}/nothing`);
  t.regex(await program.text(), /"reason":"ROUTE_NOT_FOUND"/);
  const below = await fetch(`${site.origin}/v1/nothing`, { headers: { accept: 'text/html' } });
  t.regex(await below.text(), /"reason":"ROUTE_NOT_FOUND"/);
});

test('reading pages changes no data', async (t) => {
  const site = await openSite(t);
  const reader = await signedUp(site);
  const { user_code: code } = await site.startDevice();
  await site.clock.advance(1_000);
  const before = await everything(site);
  for (const path of [...getPaths(site), `/device?code=${code}`, '/device?code=BCDF-GHJK', '/verify-email?token=x']) {
    await fetch(site.origin + path, { headers: { cookie: reader.cookie }, redirect: 'manual' });
  }
  t.deepEqual(await everything(site), before);
});

/** Returns a size above the limit of a form. An editor accepts a whole file, and the icon settings a picture. */
function largerThan(path: string): number {
  if (path.endsWith('/edit/save')) return 2_000_000;
  // A form of files names up to 1 000 of them.
  if (path.includes('/files/')) return 300_000;
  return path.includes('/settings/description/') ? MOST_SENT_BYTES + 1 : 40_000;
}

test('a form is refused from another site, without its token, or with the token of another session', async (t) => {
  const site = await openSite(t);
  const reader = await signedUp(site, 'reader@example.org');
  const other = await signedUp(site, 'other@example.org');
  const { user_code: code } = await site.startDevice();
  const fields = {
    code,
    decision: 'approve',
    name: 'k',
    scope: 'servers:read',
    expiry: '30',
    email: 'reader@example.org',
    password: PASSWORD,
  };
  const forged: [string, Record<string, string>, Record<string, string>][] = [
    ['no token', {}, {}],
    ['the token of another session', {}, { csrf: other.csrf }],
    ['a token that was made up', {}, { csrf: 'x'.repeat(43) }],
    ['a foreign origin', { origin: 'https://evil.example' }, { csrf: reader.csrf }],
    ['no origin that can be told', { origin: 'null' }, { csrf: reader.csrf }],
    ['another site', { 'sec-fetch-site': 'cross-site' }, { csrf: reader.csrf }],
    ['a neighbour', { 'sec-fetch-site': 'same-site', origin: 'https://neighbour.example' }, { csrf: reader.csrf }],
  ];
  const before = await everything(site);
  const paths = postPaths(site);
  t.true(paths.length >= 13, paths.join());
  for (const path of paths) {
    // Pages count against the rate limit of their session.
    await site.clock.advance(100);
    for (const [what, headers, token] of forged) {
      const reply = await post(site, path, { ...fields, ...token }, { cookie: reader.cookie, ...headers });
      t.is(reply.status, 403, `${path}: ${what}`);
      t.is(reply.headers.get('set-cookie'), null);
    }
    const json = await fetch(site.origin + path, {
      method: 'POST',
      headers: { cookie: reader.cookie, 'content-type': 'text/plain' },
      body: `csrf=${reader.csrf}`,
    });
    t.is(json.status, 415, path);
    const name = 'x'.repeat(largerThan(path));
    const large = await post(site, path, { csrf: reader.csrf, name }, { cookie: reader.cookie });
    t.is(large.status, 413, path);
  }
  t.deepEqual(await everything(site), before);
  // The right token is accepted, so the refusals above are meaningful.
  const good = await post(
    site,
    '/device',
    { ...fields, csrf: reader.csrf },
    { cookie: reader.cookie, 'sec-fetch-site': 'same-origin' },
  );
  t.is(good.headers.get('location'), '/device/approved');
});

test('a form sent without a session redirects to sign-in and changes no data', async (t) => {
  const site = await openSite(t);
  const { user_code: code } = await site.startDevice();
  const before = await everything(site);
  for (const path of postPaths(site).filter((each) => !/^\/(?:sign-|verify|checkout|join$)/.test(each))) {
    const reply = await post(site, path, { code, decision: 'approve' }, {});
    t.is(reply.status, 303, path);
    t.regex(reply.headers.get('location') ?? '', /^\/sign-in(?:\?next=%2F[\w%-]+)?$/);
  }
  const asked = await fetch(`${site.origin}/device?code=${code.toLowerCase()}`, { redirect: 'manual' });
  t.is(asked.headers.get('location'), `/sign-in?next=${encodeURIComponent(`/device?code=${code}`)}`);
  t.deepEqual(await everything(site), before);
});

test('a forged forwarded host appears in no page and no header', async (t) => {
  const site = await openSite(t);
  const headers = { 'x-forwarded-host': 'evil.example', accept: 'text/html', forwarded: 'host=evil.example' };
  for (const path of [...getPaths(site), '/nothing']) {
    const reply = await fetch(site.origin + path, { headers, redirect: 'manual' });
    t.notRegex((await reply.text()) + JSON.stringify([...reply.headers]), /evil/);
  }
});

test('sign-up is refused, and the pages do not link to it, when only the operator creates accounts', async (t) => {
  const site = await openSite(t, { signup: 'closed' });
  const page = await fetch(`${site.origin}/sign-up`);
  t.regex(await page.text(), /Ask your administrator for an invitation link/);
  const signIn = await (await fetch(`${site.origin}/sign-in`)).text();
  t.regex(signIn, /Ask your administrator for an invitation link/);
  t.notRegex(signIn, /href="\/sign-up/);
  const home = await (await fetch(`${site.origin}/`)).text();
  t.regex(home, /Ask your administrator for an invitation link/);
  t.notRegex(home, /href="\/sign-up/);
  const reply = await post(
    site,
    '/sign-up',
    { ...(await visitorForm(site)), email: 'a@example.org', password: PASSWORD },
    {},
  );
  t.is(reply.status, 403);
});

test('an operator’s invitation allows its address alone to sign up while sign-up is closed', async (t) => {
  const site = await openSite(t, { signup: 'closed' });
  const { key } = await site.mint(['operator'], {});
  await site.store.write((tx) => tx.run('UPDATE "users" SET "operator" = $1 WHERE "id" = $2', [true, 'usr_test']));
  const email = 'steve@example.org';
  const invite = () => site.call('POST', '/v1/operator/accounts:invite', { key, body: { email } });
  const { json } = await invite();
  const link = new URL(String(json['link']));
  t.is(site.letters.at(-1)?.to, email);
  t.true(site.letters.at(-1)?.text.includes(link.href));
  const page = await (await fetch(site.origin + link.pathname + link.search)).text();
  t.regex(page, new RegExp(`value="${email}"`));
  const invitation = link.searchParams.get('invitation') ?? '';
  const form = { ...(await visitorForm(site)), invitation, password: PASSWORD };
  t.is(
    (await post(site, '/sign-up', { ...form, email: 'alex@example.org' }, {})).status,
    403,
    'the invitation is for one address',
  );
  t.is((await post(site, '/sign-up', { ...form, email }, {})).status, 303);
  t.is((await invite()).reason, 'USER_EXISTS');
});

test('a new key and full access require the password again in their form after a while', async (t) => {
  const site = await openSite(t);
  const me = await signedUp(site);
  const page = async (path: string) => (await fetch(site.origin + path, { headers: { cookie: me.cookie } })).text();
  const key = { ...me, name: 'script', scope: 'backups', expiry: '30' };
  t.notRegex(await page('/profile/keys'), /name="password"/);
  await site.clock.advance(PASSWORD_FRESH_MS);
  t.regex(await page('/profile/keys'), /name="password"/);
  t.is((await post(site, '/profile/keys', key, {})).status, 403);
  const wrong = await post(site, '/profile/keys', { ...key, password: 'wrong password' }, {});
  t.is(wrong.status, 403);
  t.regex(await wrong.text(), /This is not your password\..*value="script"/s);
  t.is(
    (await post(site, '/profile/keys', { ...key, password: PASSWORD }, {})).headers.get('location'),
    '/profile/keys/new',
  );

  await site.clock.advance(PASSWORD_FRESH_MS);
  const { user_code: code } = await site.startDevice();
  const asked = await page(`/device?code=${code}`);
  t.regex(asked, /name="password"/);
  t.regex(asked, /formnovalidate[^>]*value="deny"/, 'declining needs no password');
  const answer = (password: string) => post(site, '/device', { ...me, code, decision: 'approve', password }, {});
  for (const given of ['', 'wrong password']) {
    const refused = await answer(given);
    t.is(refused.status, 403);
    t.regex(await refused.text(), /full access to your account/, 'the page asks again');
  }
  t.is((await answer(PASSWORD)).headers.get('location'), '/device/approved');
  const { user_code: other } = await site.startDevice(await site.registerApp('Launcher'));
  await site.clock.advance(PASSWORD_FRESH_MS);
  t.notRegex(await page(`/device?code=${other}`), /name="password"/, 'limited access needs no password');
});

test('cookies are HttpOnly and SameSite, and over https also Secure with the __Host- prefix', async (t) => {
  const site = await openSite(t);
  const { headers } = await fetch(`${site.origin}/sign-in`);
  t.regex(headers.get('set-cookie') ?? '', /^visitor=[\w-]{22}; Path=\/; HttpOnly; SameSite=Lax$/);
  t.regex(sessionCookie('https://d.example', 'x'), /^__Host-sid=x; Path=\/; .*HttpOnly; SameSite=Lax; Secure$/);
});

test('too many wrong passwords return 429, and the page shows how long to wait', async (t) => {
  const site = await openSite(t);
  await signedUp(site, 'reader@example.org');
  const { csrf, cookie } = await visitorForm(site);
  let reply: Response | undefined;
  for (let i = 0; i <= LOGIN_RULES.network.burst; i++) {
    reply = await post(site, '/sign-in', { csrf, email: 'reader@example.org', password: `wrong ${i}` }, { cookie });
  }
  t.is(reply?.status, 429);
  t.regex(reply?.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  t.regex((await reply?.text()) ?? '', /Too many tries\. Wait \d+ seconds/);
});

const PASSWORD = 'correct horse battery';

function unescaped(text: string): string {
  const names: Record<string, string> = { lt: '<', gt: '>', quot: '"', '#39': "'", amp: '&' };
  return text.replaceAll(/&(lt|gt|quot|#39|amp);/g, (_, name: string) => names[name] ?? '');
}

/** WCAG 2.2, relative luminance and contrast ratio. */
function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [one, other].map(luminance).sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function pathsOf(site: Site, method: string): string[] {
  const router = siteRouter({ ...site.services, openapi: () => ({}), calls: noCalls, takeToken: () => {} });
  return routesOf(router).flatMap((route) => (route.method === method ? route.path : []));
}

function getPaths(site: Site): string[] {
  return pathsOf(site, 'GET');
}

function postPaths(site: Site): string[] {
  return pathsOf(site, 'POST');
}

async function post(
  site: Site,
  path: string,
  fields: Record<string, string>,
  headers: Record<string, string>,
): Promise<Response> {
  const { cookie = headers['cookie'] ?? '', ...form } = fields;
  return fetch(site.origin + path, {
    method: 'POST',
    headers: { accept: 'text/html', ...headers, cookie },
    body: new URLSearchParams(form),
    redirect: 'manual',
  });
}

/** Returns the cookie and the CSRF token of a visitor who opens a form. */
async function visitorForm(site: Site): Promise<{ cookie: string; csrf: string }> {
  const reply = await fetch(`${site.origin}/sign-in`);
  const cookie = reply.headers.get('set-cookie')?.split(';')[0] ?? '';
  return { cookie, csrf: csrfIn(await reply.text()) };
}

test('sign-up by e-mail answers alike whether or not the address has an account', async (t) => {
  const site = await openSite(t, { signup: 'letter' });
  const form = async () => visitorForm(site);
  const ask = async (email: string) => {
    const reply = await post(site, '/sign-up', { ...(await form()), email }, {});
    const headers = [...reply.headers].filter(([name]) => !['date', 'x-request-id', 'set-cookie'].includes(name));
    const text = (await reply.text()).replaceAll(/name="csrf" value="[^"]+"/g, '');
    return { status: reply.status, headers, text, session: reply.headers.get('set-cookie')?.includes('sid=') ?? false };
  };
  // The harness has an account with this address: `usr_test`.
  const known = await ask('owner@example.com');
  const unknown = await ask('new@example.org');
  t.deepEqual(known, unknown);
  t.like(unknown, { status: 200, session: false });
  t.regex(unknown.text, /Check your e-mail/);
  const [told, linked] = site.letters;
  t.like(told, { to: 'owner@example.com', subject: 'You have an account at Dormouse' });
  t.notRegex(told?.text ?? '', /invitation=/);
  t.is(linked?.to, 'new@example.org');
  const invitation = /invitation=(\S+)/.exec(linked?.text ?? '')?.[1] ?? '';

  const request = async ({ origin }: { origin: string }) => {
    const body = JSON.stringify({ email: 'x@example.org' });
    return (await fetch(`${origin}/v1/session/me:requestSignUp`, { method: 'POST', body })).status;
  };
  t.is(await request(site), 200);
  t.is(await request(await openSite(t)), 400, 'open sign-up needs no request');

  // Without a link, the form creates no account, whatever the address.
  for (const email of ['owner@example.com', 'other@example.org']) {
    const reply = await post(site, '/sign-up', { ...(await form()), email, password: PASSWORD }, {});
    t.regex(await reply.text(), /Check your e-mail/);
  }
  const before = await site.store.query('SELECT * FROM "users"');
  t.is(before.length, 1);
  const page = await (await fetch(`${site.origin}/sign-up?invitation=${invitation}`)).text();
  t.regex(page, /value="new@example.org"/);
  const made = await post(
    site,
    '/sign-up',
    { ...(await form()), email: 'new@example.org', password: PASSWORD, invitation },
    {},
  );
  t.is(made.status, 303);
  t.like(
    (await site.store.query<{ email: string }>('SELECT * FROM "users" ORDER BY "createdAt" DESC, "email"'))
      .map(({ email }) => email)
      .toSorted(),
    ['new@example.org', 'owner@example.com'],
  );
});

async function signedUp(site: Site, email = 'reader@example.org'): Promise<{ cookie: string; csrf: string }> {
  const reply = await post(site, '/sign-up', { ...(await visitorForm(site)), email, password: PASSWORD }, {});
  const cookie = reply.headers.get('set-cookie')?.split(';')[0] ?? '';
  return { cookie, csrf: csrfIn(await (await fetch(`${site.origin}/profile`, { headers: { cookie } })).text()) };
}

function csrfIn(page: string): string {
  return /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
}

/** Reads all rows of the tables that a page could change. */
async function everything(site: Site): Promise<unknown[]> {
  const tables = ['users', 'sessions', 'email_tokens', 'api_keys', 'grants', 'app_tokens', 'members', 'audit'];
  return Promise.all(tables.map((table) => site.store.query(`SELECT * FROM "${table}"`)));
}

/** Throws, because the routes are only counted here. */
function noCalls(): never {
  throw new Error('nothing is called');
}
