/** `node join.ts NAME SERVER HOST KEY`: a player NAME joins SERVER at the address HOST and leaves. */
import { lookup } from 'node:dns/promises';
import { joinRaw } from '../support/bot.ts';

const [name = '', server = '', host = '', key = ''] = process.argv.slice(2);
const { HTTP_PORT, PROXY_PORT } = process.env;
const answer = await fetch(`http://127.0.0.1:${HTTP_PORT}/v1/servers/${server}`, { headers: { 'x-api-key': key } });
const { version } = (await answer.json()) as { version: string };
// Like Minecraft, resolve the host name and send it in the handshake. The service of a test listens on IPv4 only.
const { address } = await lookup(host, { family: 4 });
const typed = { host: address, fakeHost: host };
const player = await joinRaw({ ...typed, port: Number(PROXY_PORT), version, name, timeoutMs: 120_000 });
await player.end();
process.stdout.write(`${name} was let into ${server}, ${version}\n`);
process.exit();
