import { constants, createCipheriv, createDecipheriv, privateDecrypt, randomBytes } from 'node:crypto';
import type { ServerKey } from './accounts.ts';
import { FrameReader, ProtocolError, encodeFrame, encodeString, encodeVarInt, readFrame } from './codec.ts';
import type { Context } from './context.ts';
import { type Handshake, NEWEST_KNOWN, PROTOCOL } from './handshake.ts';
import { PeerGone } from './inbox.ts';
import { Kick, disconnectFrame } from './kick.ts';
import type { Player } from './ports.ts';
import type { ClientConnection } from './client-connection.ts';
import { isAcknowledgement, loginSuccess, transfer } from './waiting/packets.ts';

/**
 * Limit of the response: secret and token, each 128 bytes when encrypted, with their lengths. Some signatures are
 * longer.
 */
const RESPONSE_BYTES = 1024;
const SECRET_BYTES = 16;
const TOKEN_BYTES = 4;

/**
 * Makes the client prove its account, as an online game does, and join again: clients since 1.20.5 are transferred,
 * older ones get a message. The connection cannot be reused, because a client accepts only one encryption and the game
 * needs its own. Rejects with Kick, PeerGone or ProtocolError.
 */
export async function verify(
  connection: ClientConnection,
  player: Player,
  { handshake, host }: { handshake: Handshake; host: string },
  context: Context,
): Promise<void> {
  const { accounts, log, counters } = context;
  const { protocol } = player;
  if (protocol < PROTOCOL.V1_8) throw new Kick('unverified');
  const key = await accounts.key();
  const secret = await exchange(connection, protocol, key, context.timings.verifyMs);
  const cipher = createCipheriv('aes-128-cfb8', secret, secret);
  let isVerified = false;
  try {
    isVerified = await accounts.hasJoined(player, secret, context.closing);
  } catch (err) {
    log.warn({ err }, 'could not check an account');
  }
  const rule = isVerified ? 'verified' : 'unverified';
  counters.kicks[rule]++;
  log.info({ host, player: player.name, protocol, rule }, 'account checked');
  if (isVerified) accounts.remember(player);
  if (!isVerified || protocol < PROTOCOL.V1_20_5 || protocol > NEWEST_KNOWN || player.uuid === null) {
    connection.sendAndClose(cipher.update(disconnectFrame(new Kick(rule).text, protocol)));
    return;
  }
  connection.socket.write(cipher.update(loginSuccess(player.uuid, player.name, protocol)));
  await acknowledged(connection, secret, context.timings.verifyMs);
  connection.sendAndAwaitEnd(cipher.update(transfer(host, handshake.serverPort)));
}

/** Sends the encryption request and returns the client's secret. */
async function exchange(
  connection: ClientConnection,
  protocol: number,
  { der, privateKey }: ServerKey,
  withinMs: number,
) {
  const token = randomBytes(TOKEN_BYTES);
  const fields = [encodeString(''), ...[der, token].flatMap((bytes) => [encodeVarInt(bytes.length), bytes])];
  // "Should authenticate": makes the client notify the session service.
  if (protocol >= PROTOCOL.V1_20_5) fields.push(Buffer.from([1]));
  connection.socket.write(encodeFrame(0x01, ...fields));
  const body = await connection.inbox.take((bytes) => readFrame(bytes, RESPONSE_BYTES), withinMs);
  if (!body) throw new PeerGone();
  const response = readResponse(body, protocol);
  const decrypt = (bytes: Buffer): Buffer =>
    privateDecrypt({ key: privateKey, padding: constants.RSA_PKCS1_PADDING }, bytes);
  try {
    const secret = decrypt(response.secret);
    const isOurs = response.token === undefined || decrypt(response.token).equals(token);
    if (secret.length === SECRET_BYTES && isOurs) return secret;
  } catch {
    // Bytes not encrypted to our key are treated like a wrong token.
  }
  throw new ProtocolError('invalid encryption response');
}

/**
 * Clients of 1.19 to 1.19.2 with a chat key sign the token instead of encrypting it. The signature is not checked: the
 * session service vouches for the secret, which only this proxy can read.
 */
function readResponse(body: Buffer, protocol: number): { secret: Buffer; token: Buffer | undefined } {
  const reader = new FrameReader(body);
  if (reader.varInt() !== 0x01) throw new ProtocolError('not an encryption response');
  const secret = reader.byteArray(RESPONSE_BYTES);
  const isSigned = protocol >= PROTOCOL.V1_19 && protocol < PROTOCOL.V1_19_3 && !reader.boolean();
  return { secret, token: isSigned ? undefined : reader.byteArray(RESPONSE_BYTES) };
}

/** Waits until the client has acknowledged the login. Only then does the client accept configuration packets. */
async function acknowledged({ inbox }: ClientConnection, secret: Buffer, withinMs: number): Promise<void> {
  const decipher = createDecipheriv('aes-128-cfb8', secret, secret);
  let plain: Buffer = Buffer.alloc(0);
  for (const end = performance.now() + withinMs; ;) {
    const left = end - performance.now();
    const bytes = left > 0 && (await inbox.take((all) => ({ value: all, size: all.length }), left));
    if (!bytes) throw new PeerGone();
    plain = Buffer.concat([plain, decipher.update(bytes)]);
    const frame = readFrame(plain, RESPONSE_BYTES);
    if (!frame) continue;
    if (!isAcknowledgement(frame.value)) throw new ProtocolError('not an acknowledgement');
    return;
  }
}
