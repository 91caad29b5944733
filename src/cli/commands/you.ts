import { type Api, createApi, done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, type Context, call, command, flag, ofAccount, saysYes } from '../command.ts';
import { pollDeviceGrant, startDeviceGrant } from '../device-grant.ts';
import { notSignedIn, wrongUsage } from '../errors.ts';
import { aligned, duration } from '../format.ts';
import { isReadableOnTheWay } from '../http.ts';
import { type Device, EULA, type Messages, type Server, WHO_AM_I, read } from '../shapes.ts';
import { secretLine } from '../terminal.ts';
import { oneLine } from '../text.ts';

/** The form of an API key. Only the service knows whether a key is valid. */
const KEY = /^dmk_[0-9A-Za-z]{38}$/;

/** `dormouse login`. */
export const login: Command = command({
  usage: 'login',
  summary: 'Sign in by confirming a code in a browser, or with an API key.',
  options: { key: flag('Read an existing API key from standard input, without showing it.') },
  tooMany:
    "login reads the key from standard input, to keep it out of the shell's history. " +
    `Run: ${DORMOUSE} login --key < FILE (omit "< FILE" to type the key).`,
  details: `Stores the key for this service in $XDG_CONFIG_HOME/dormouse/credentials.json, readable by you only. The key is never
shown and never sent to another service. With --json, prints the code and the link as one line of JSON on standard error.`,
  async run(context, _, { key }) {
    const { url, terminal } = context;
    if (isReadableOnTheWay(url)) {
      terminal.note(
        `${terminal.err.style('yellow', 'Note:')} ${url} is not encrypted: others on the network can read your key.`,
      );
    }
    await (key ? keepGiven(context) : keepGranted(context));
  },
});

/** Tests a given key and stores it only if it is valid. */
async function keepGiven(context: Context): Promise<void> {
  const { url, terminal, input, signal } = context;
  const typed = await secretLine(input, signal, () => terminal.err.write('API key (not shown): '));
  const key = typed.trim();
  if (input.isTTY) terminal.err.line('');
  if (!KEY.test(key)) throw wrongUsage('This is not an API key. API keys begin with dmk_ and have 42 characters.');
  const reply = await done(createApi(url, key, signal).GET('/v1/whoami'));
  await keep(context, key);
  signedIn(context, reply);
}

/** Stores a granted key before anything else can fail, because it is issued only once. */
async function keepGranted(context: Context): Promise<void> {
  const { url, credentials, signal } = context;
  // Checks in advance that a key can be stored, because it would be lost otherwise.
  await credentials.save(await credentials.load());
  const device = await startDeviceGrant(url, signal);
  const key = await showWhile(context, device, () => pollDeviceGrant(url, device, signal));
  if (!KEY.test(key)) throw notSignedIn(`${url} returned an invalid key. Sign in with: ${DORMOUSE} login --key`);
  await keep(context, key);
  signedIn(context, await done(createApi(url, key, signal).GET('/v1/whoami')));
}

async function keep({ url, credentials }: Context, key: string): Promise<void> {
  const { keys } = await credentials.load();
  await credentials.save({ current: url, keys: { ...keys, [url]: key } });
}

function signedIn({ url, json, document, terminal: { out } }: Context, reply: Messages['WhoAmIResponse']): void {
  if (json) return document(reply);
  out.line(`Signed in at ${url} as ${out.style('bold', oneLine(read(WHO_AM_I, reply).email))}.`);
}

/** Shows the code, the link and a countdown while `wait` runs. */
async function showWhile<Result>(
  { json, terminal }: Context,
  device: Device,
  wait: () => Promise<Result>,
): Promise<Result> {
  if (json) {
    const { device_code: _, ...shown } = device;
    terminal.err.line(JSON.stringify(shown));
    return wait();
  }
  const { err } = terminal;
  const link = oneLine(device.verification_uri_complete || device.verification_uri);
  err.line(`Open this page in a browser, on any device:\n\n  ${err.style('bold', link)}\n`);
  err.line(`and check that it shows this code:\n\n  ${err.style('bold', oneLine(device.user_code))}\n`);
  const endsAt = Date.now() + device.expires_in * 1000;
  const show = () => {
    const left = duration(Math.max(0, Math.round((endsAt - Date.now()) / 1000)));
    terminal.progress(`Waiting for you to confirm it… ${left} left`, 'Waiting for you to confirm it…');
  };
  show();
  const redrawing = setInterval(show, 1000);
  try {
    return await wait();
  } finally {
    clearInterval(redrawing);
    terminal.clear();
  }
}

/** `dormouse logout`. */
export const logout: Command = command({
  usage: 'logout',
  summary: 'Sign out and delete the stored API key.',
  async run({ url, json, document, credentials, terminal: { out } }) {
    const { current, keys } = await credentials.load();
    const { [url]: forgotten, ...kept } = keys;
    if (forgotten !== undefined) await credentials.save({ current, keys: kept });
    if (json) return document({ url, forgotten: forgotten !== undefined });
    if (forgotten === undefined) return out.line(`You were not signed in at ${url}.`);
    out.line(`Signed out of ${url}. The key itself is valid until you revoke it: ${url}/profile/keys`);
  },
});

/** `dormouse whoami`. */
export const whoami = call({
  usage: 'whoami',
  summary: 'Show the account and the service you are signed in to.',
  call: ({ api }) => api.GET('/v1/whoami'),
  shape: WHO_AM_I,
  show: ({ accountId, email, emailVerified }, { url }) =>
    aligned([
      ['e-mail', email + (emailVerified ? '' : ' (not verified)')],
      ['account', accountId],
      ['service', url],
    ]),
});

/** `dormouse keys`. */
export const keys: Command = command({
  usage: 'keys',
  summary: 'Show where to create and revoke API keys.',
  run({ url, json, document, terminal: { out } }) {
    const page = `${url}/profile/keys`;
    if (json) return document({ url: page });
    out.line('You create, list and revoke API keys in a browser, so that a leaked key cannot create others:');
    out.line('');
    out.line(`  ${out.style('bold', page)}`);
  },
});

/** `dormouse eula`. */
export const eula = call({
  usage: 'eula',
  summary: "Show whether you have agreed to Minecraft's EULA. With --accept, agree to it.",
  options: { accept: flag('You have read https://aka.ms/MinecraftEULA and agree.') },
  details: 'Required once for all your servers. Until then, only servers of the built-in sandbox can wake.',
  call: async ({ api }, _, { accept }) =>
    accept ? agree(api) : api.GET('/v1/accounts/{accountId}/eula', await ofAccount(api)),
  shape: EULA,
  show({ accepted, byOperator, url }) {
    if (!accepted) return [`You have not agreed to Minecraft's EULA. Read ${url}, then: ${DORMOUSE} eula --accept`];
    const who = byOperator ? 'The operator has agreed, for all servers, to' : 'You have agreed to';
    return [`${who} Minecraft's EULA: ${url}`];
  },
});

/**
 * Asks the person at a terminal to accept the EULA if a server runs Mojang's software and they have not accepted it
 * yet. Without a terminal, or on a no, prints how to accept it. Skips servers of other accounts, whose owners must
 * accept, and services without this operation.
 */
export async function askForEula(context: Context, { type, accountId }: Server): Promise<void> {
  if (type === 'sandbox') return;
  const { api, terminal, input } = context;
  const own = await ofAccount(api);
  if (own.params.path.accountId !== accountId) return;
  const { response, data } = await api.GET('/v1/accounts/{accountId}/eula', own);
  if (!response.ok || data === undefined) return;
  const { accepted, url } = read(EULA, data, oneLine);
  if (accepted) return;
  if (input.isTTY) {
    terminal.err.line(`It runs Mojang's software. Read Minecraft's EULA: ${url}`);
    if (await saysYes(context, 'Do you agree, for all your servers?')) return void (await done(agree(api)));
  }
  terminal.err.line(`It can wake once you agree to Minecraft's EULA: ${DORMOUSE} eula`);
}

/** Accepts the EULA for the person running this command. */
export async function agree(api: Api) {
  return api.POST('/v1/accounts/{accountId}/eula', { ...(await ofAccount(api)), body: { accepted: true } });
}
