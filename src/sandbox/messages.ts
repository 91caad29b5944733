import type { Client } from 'minecraft-protocol';
import nbt from 'prismarine-nbt';
import type { Protocol } from './protocol.ts';

const NOBODY = '00000000-0000-0000-0000-000000000000';

/** Encodes text for the packets of a version: NBT since 1.20.3, JSON before. */
function component(protocol: Protocol, text: string): unknown {
  return protocol.supports('chatPacketsUseNbtComponents')
    ? nbt.comp({ text: nbt.string(text) })
    : JSON.stringify({ text });
}

/** Shows a line in a player's chat. */
export function tell(client: Client, protocol: Protocol, text: string): void {
  if (protocol.sends('system_chat')) {
    client.write('system_chat', { content: component(protocol, text), isActionBar: false, type: 1 });
  } else {
    client.write('chat', { message: JSON.stringify({ text }), position: 0, sender: NOBODY });
  }
}

/** Ends a connection in any state, with a reason shown to the player. */
export function disconnect(client: Client, protocol: Protocol, text: string): void {
  const state = client.state as string;
  if (state === 'login') client.write('disconnect', { reason: JSON.stringify({ text }) });
  if (state === 'configuration') client.write('disconnect', { reason: component(protocol, text) });
  if (state === 'play') client.write('kick_disconnect', { reason: component(protocol, text) });
  // The library would continue a login in any case. From here on, its writes are dropped.
  client.write = () => undefined;
  setImmediate(() => client.socket.end());
  setTimeout(() => client.socket.destroy(), 5_000).unref();
}
