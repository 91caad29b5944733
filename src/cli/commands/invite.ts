import { done } from '../api.ts';
import { type Command, command } from '../command.ts';
import { read } from '../shapes.ts';
import { oneLine } from '../text.ts';

/** `dormouse invite`. */
export const invite: Command = command({
  name: 'invite',
  summary: 'Let somebody make an account, as an operator.',
  args: ['email'],
  details: `The key must have the scope operator, which one that "dormouse login" gets in the browser has not: make one at
/profile/keys, and set DORMOUSE_KEY or sign in with it by "dormouse login --key". The link works for seven days, once, for this address alone.`,
  async run({ api, json, document, terminal: { out } }, [email = '']) {
    const reply = await done(api.POST('/v1/operator/accounts:invite', { body: { email } }));
    if (json) return document(reply);
    const { link, sent } = read({ link: '', sent: false }, reply);
    const way = sent ? 'This link was sent there' : 'No mail is set up there, so pass this link on';
    out.line(`${oneLine(email)} may make an account. ${way}; it works for seven days, once:`);
    out.line('');
    out.line(`  ${out.style('bold', oneLine(link))}`);
  },
});
