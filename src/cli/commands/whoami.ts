import { done } from '../api.ts';
import { type Command, command } from '../command.ts';
import { WHO_AM_I, read } from '../shapes.ts';
import { aligned } from '../table.ts';
import { oneLine } from '../text.ts';

/** `dormouse whoami`. */
export const whoami: Command = command({
  name: 'whoami',
  summary: 'Show who is signed in, and where.',
  async run({ api, json, document, terminal: { out } }) {
    const reply = await done(api.GET('/v1/whoami'));
    if (json) return document(reply);
    const { accountId, email, emailVerified } = read(WHO_AM_I, reply);
    const rows = [
      ['e-mail', oneLine(email) + (emailVerified ? '' : ' (not verified)')],
      ['account', oneLine(accountId)],
      ['service', api.url],
    ];
    for (const line of aligned(rows)) out.line(line);
  },
});
