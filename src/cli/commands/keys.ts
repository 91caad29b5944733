import { type Command, command } from '../command.ts';

/** `dormouse keys`. */
export const keys: Command = command({
  name: 'keys',
  summary: 'Show where API keys are made and revoked.',
  run({ url, json, document, terminal: { out } }) {
    const page = `${url}/profile/keys`;
    if (json) return document({ url: page });
    out.line('API keys are made, listed and revoked in a browser only, so that a leaked key cannot make others:');
    out.line('');
    out.line(`  ${out.style('bold', page)}`);
  },
});
