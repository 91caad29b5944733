import { type Command, command } from '../command.ts';

/** `dormouse logout`. */
export const logout: Command = command({
  name: 'logout',
  summary: 'Forget the stored key of the service.',
  async run({ url, json, document, credentials, terminal: { out } }) {
    const { current, keys } = await credentials.load();
    const { [url]: forgotten, ...kept } = keys;
    if (forgotten !== undefined) await credentials.save({ current, keys: kept });
    if (json) return document({ url, forgotten: forgotten !== undefined });
    if (forgotten === undefined) return out.line(`You were not signed in at ${url}.`);
    out.line(`Signed out of ${url}. The key itself is valid until you revoke it: ${url}/profile/keys`);
  },
});
