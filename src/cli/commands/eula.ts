import { saysYes } from '../call.ts';
import { done } from '../api.ts';
import { DORMOUSE } from '../called.ts';
import { type Command, type Context, command } from '../command.ts';
import { EULA, type Server, WHO_AM_I, read } from '../shapes.ts';
import { oneLine } from '../text.ts';

/** `dormouse eula`. */
export const eula: Command = command({
  name: 'eula',
  summary: "Show whether you have agreed to Minecraft's EULA. With --accept, agree to it.",
  options: { accept: { type: 'boolean', help: 'You have read https://aka.ms/MinecraftEULA and agree.' } },
  details: 'Required once for all your servers. Until then, only servers of the built-in sandbox can wake.',
  async run(context, _, { accept }) {
    const { json, document, terminal } = context;
    const reply = accept ? await agree(context) : await consent(context);
    if (json) return document(reply);
    const { accepted, byOperator, url } = read(EULA, reply, oneLine);
    const who = byOperator ? 'The operator has agreed, for all servers, to' : 'You have agreed to';
    if (accepted) return terminal.out.line(`${who} Minecraft's EULA: ${url}`);
    terminal.out.line(`You have not agreed to Minecraft's EULA. Read ${url}, then: ${DORMOUSE} eula --accept`);
  },
});

/**
 * Asks the person at a terminal to accept the EULA if a server runs Mojang's software and they have not accepted it
 * yet. Without a terminal, or on a no, prints how to accept it. Skips servers of other accounts, whose owners must
 * accept, and services without this operation.
 */
export async function askForEula(
  context: Context,
  { type, accountId }: Pick<Server, 'type' | 'accountId'>,
): Promise<void> {
  if (type === 'sandbox') return;
  const { terminal, input } = context;
  const path = await account(context.api);
  if (path.accountId !== accountId) return;
  const { response, data } = await call(context, path);
  if (!response.ok || data === undefined) return;
  const { accepted, url } = read(EULA, data, oneLine);
  if (accepted) return;
  if (input.isTTY) {
    terminal.err.line(`It runs Mojang's software. Read Minecraft's EULA: ${url}`);
    if (await saysYes(context, 'Do you agree, for all your servers?')) return void (await agree(context));
  }
  terminal.err.line(`It can wake once you agree to Minecraft's EULA: ${DORMOUSE} eula`);
}

/** Accepts the EULA for the person running this command. */
export async function agree({ api }: Context) {
  const path = await account(api);
  return done(api.POST('/v1/accounts/{accountId}/eula', { params: { path }, body: { accepted: true } }));
}

async function consent(context: Context) {
  return done(call(context, await account(context.api)));
}

async function call({ api }: Context, path: { accountId: string }) {
  return api.GET('/v1/accounts/{accountId}/eula', { params: { path } });
}

async function account(api: Context['api']): Promise<{ accountId: string }> {
  const { accountId } = read(WHO_AM_I, await done(api.GET('/v1/whoami')));
  return { accountId };
}
