import { type Html, html } from '../../web/html.ts';
import { copyButton } from '../../web/panel/parts.ts';
import { nameForHosts } from '../api/addresses.ts';

/** Notes on typing an address in Minecraft; empty if it simply works. */
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
