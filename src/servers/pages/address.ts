import { type Html, html } from '../../web/html.ts';
import { copyButton } from '../../web/panel/parts.ts';
import { nameForHosts } from '../api/addresses.ts';

/** What there is to know of an address before it is typed in Minecraft; nothing where it just works. */
export function addressNotes(address: string, atHome: string | undefined): Html {
  const name = nameForHosts(address);
  return html`${
    atHome !== undefined &&
    html`<p>
      From another device on your network: <code>${atHome}</code> ${copyButton(atHome, 'the address at home')}
    </p>`
  }${
    name !== undefined &&
    html`<p>
      Only this computer can resolve <code>${name}</code>, and only if it resolves names under localhost. If Minecraft
      says “Unknown host”, add the line <code>127.0.0.1 ${name}</code> to its hosts file.
    </p>`
  }`;
}
