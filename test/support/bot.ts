import { connect } from 'node:net';
import minecraftData from 'minecraft-data';
import mc, { type Client, createClient } from 'minecraft-protocol';
import { type Bot, createBot } from 'mineflayer';
import prismarineItem from 'prismarine-item';
import { Vec3 } from 'vec3';
import { TEXTS } from '../../proxy/texts.ts';
import { findVersion } from '../../src/sandbox/versions.ts';
import { until } from './until.ts';

/** Options of a join: the server, the version and the player. */
export interface JoinOptions {
  host?: string;
  port: number;
  /** A Minecraft release, such as `1.20.4`. */
  version: string;
  name: string;
  /** The host name in the handshake, by which a proxy routes. Default: `host`. */
  fakeHost?: string;
  /** Sends the transfer intent in the handshake, as a client does that another server has transferred. */
  transferred?: boolean;
  /** The local address to connect from, such as 127.0.0.2. */
  from?: string;
  /** The limit for the whole join, including a login that is held. */
  timeoutMs?: number;
}

/** A block position, in whole numbers. */
export interface Place {
  x: number;
  y: number;
  z: number;
}

/** A player with a full client, which knows the world and acts in it. */
export interface TestBot extends Talker {
  bot: Bot;
  /** Places a block from the inventory on top of the block below `at`. In creative mode the inventory may lack it. */
  placeBlock(at: Place, name: string): Promise<void>;
  dig(at: Place): Promise<void>;
  /** Returns the name of the block at a position. Waits until its chunk has arrived. */
  blockAt(at: Place): Promise<string>;
}

/** A player who only chats, which costs little. */
export interface RawBot extends Talker {
  client: Client;
}

interface Talker {
  chat(text: string): void;
  /** Resolves with the first matching line of chat, already received or still to come. */
  waitChat(pattern: RegExp, timeoutMs?: number): Promise<string>;
  /** Every line of chat so far. */
  lines: string[];
  /** Resolves with the reason once the connection has ended: the kick's text, if the server kicked the player. */
  ended: Promise<string>;
  /** Leaves. Resolves when the connection has ended. */
  end(): Promise<void>;
}

/** The module itself is the function. Its typings, written for another module system, declare a property instead. */
const itemClass = prismarineItem as unknown as (registry: Bot['registry']) => new (id: number, count: number) => object;

const TRANSFER = 3;
const JOIN_TIMEOUT_MS = 240_000;
const ACTION_TIMEOUT_MS = 240_000;
/** The keep-alive timeout of clients, longer than any login is held. The libraries' default is 30 s. */
const PATIENCE_MS = 15 * 60_000;

/**
 * Joins with mineflayer and resolves once the bot stands in the world. Rejects with the server's words if the bot is
 * refused or kicked, or after `timeoutMs`.
 */
export function joinBot(options: JoinOptions): Promise<TestBot> {
  return punctually(options, joinBotOnce);
}

/** Joins with the protocol alone: for many players, or for tests that need no world. */
export function joinRaw(options: JoinOptions): Promise<RawBot> {
  return punctually(options, joinRawOnce);
}

async function joinBotOnce(options: JoinOptions, silence: Silence): Promise<TestBot> {
  const bot = createBot({ ...clientOptions(options, silence), logErrors: false });
  const talker = talk(bot, (text) => bot.chat(text));
  bot.on('messagestr', (line) => talker.hear(line));
  bot.on('kicked', (reason) => talker.kicked(plainText(reason)));
  await joined(bot, bot._client, 'spawn', talker, options);
  return {
    ...talker,
    bot,
    placeBlock: async (at, name) => {
      await hold(bot, name);
      const below = await loadedBlock(bot, { ...at, y: at.y - 1 });
      await bot.placeBlock(below, new Vec3(0, 1, 0)).catch(async (error: Error) => {
        // The library waits for five seconds. A busy machine may take longer.
        if (!error.message.includes('did not fire within timeout')) throw error;
        await until(async () => (await loadedBlock(bot, at)).name === name);
      });
    },
    dig: async (at) => bot.dig(await loadedBlock(bot, at), 'ignore'),
    blockAt: async (at) => (await loadedBlock(bot, at)).name,
  };
}

async function joinRawOnce(options: JoinOptions, silence: Silence): Promise<RawBot> {
  const client = createClient(clientOptions(options, silence));
  const talker = talk(client, (text) => client.chat(text));
  client.on('systemChat', ({ formattedMessage }) => talker.hear(plainText(formattedMessage)));
  client.on('playerChat', ({ formattedMessage }) => talker.hear(plainText(formattedMessage)));
  for (const packet of ['disconnect', 'kick_disconnect']) {
    client.on(packet, ({ reason }: { reason: unknown }) => talker.kicked(plainText(reason)));
  }
  // Chat works from the first position on, which servers of every version send last.
  await joined(client, client, 'position', talker, options);
  return { ...talker, client };
}

/** A player in a waiting room. */
export interface WaitingBot {
  /** Each dialog so far as JSON, including its buttons. */
  dialogs: string[];
  /** Resolves with the address that the client is transferred to. Rejects if the connection ends first. */
  sentOn: Promise<{ host: string; port: number }>;
  /** Presses the dialog's button to leave. */
  leave(): void;
  /** Resolves with the reason once the connection has ended. */
  ended: Promise<string>;
}

/** Joins a server that shows a waiting room. */
export function joinRoom(options: JoinOptions): WaitingBot {
  const client = createClient(clientOptions(options, { ms: 0 }));
  const { ended, kicked } = talk(client, () => undefined);
  const dialogs: string[] = [];
  const sentOn = Promise.withResolvers<{ host: string; port: number }>();
  sentOn.promise.catch(() => undefined);
  client.on('show_dialog', ({ dialog }: { dialog: unknown }) => void dialogs.push(JSON.stringify(dialog)));
  client.on('disconnect', ({ reason }: { reason: unknown }) => kicked(plainText(reason)));
  client.once('transfer', ({ host, port }: { host: string; port: number }) => {
    sentOn.resolve({ host, port });
    client.end();
  });
  void ended.then((reason) => sentOn.reject(new Error(`${options.name} was not sent on: ${reason}`)));
  const leave = (): void => client.write('custom_click_action', { id: 'dormouse:leave', nbt: undefined });
  return { dialogs, sentOn: sentOn.promise, ended, leave };
}

/** A server's answer to a server list. */
export interface StatusAnswer {
  version: { name: string; protocol: number };
  players: { max: number; online: number; sample?: { name: string; id: string }[] };
  description: unknown;
  favicon?: string;
}

/** Returns whether the proxy knows the server. For an unknown server, the description says so to neighbours. */
export function isKnown({ description }: StatusAnswer): boolean {
  return !JSON.stringify(description).includes(TEXTS.unknown);
}

interface PingOptions {
  host?: string;
  port: number;
  protocol?: number;
  fakeHost?: string;
  timeoutMs?: number;
}

/** Requests the status as a client's server list does. Rejects without a whole answer in time. */
export function pingStatus(options: PingOptions): Promise<StatusAnswer> {
  return punctually(options, askStatus);
}

function askStatus(options: PingOptions, silence: Silence): Promise<StatusAnswer> {
  const { host = '127.0.0.1', port, protocol = 765, fakeHost = host, timeoutMs = 120_000 } = options;
  const name = Buffer.from(fakeHost);
  const handshake = [
    varInt(0),
    varInt(protocol),
    varInt(name.length),
    name,
    Buffer.from([port >> 8, port & 0xff]),
    varInt(1),
  ];
  return new Promise((resolve, reject) => {
    const begun = performance.now();
    const socket = connect(port, host);
    let received = Buffer.alloc(0);
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`no status within ${timeoutMs} ms`)));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('closed without a status')));
    socket.on('connect', () => {
      silence.ms = performance.now() - begun;
      socket.write(Buffer.concat([frame(...handshake), frame(varInt(0))]));
    });
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const answer = statusIn(received);
      if (!answer) return;
      resolve(answer);
      socket.destroy();
    });
  });
}

/** The time between a client's connection and its first bytes. The proxy allows up to 3 s. */
interface Silence {
  ms: number;
}

const MUCH_SILENCE_MS = 2_000;

/**
 * Joins, and retries a join that was too slow. Clients share this process with others that load their versions and
 * worlds, so their first bytes may be late. The proxy then rightly closes the connection as a stranger's. At the retry
 * everything is loaded.
 */
async function punctually<Options, Joined>(
  options: Options,
  join: (options: Options, silence: Silence) => Promise<Joined>,
): Promise<Joined> {
  for (let triesLeft = 4; ; triesLeft--) {
    const silence: Silence = { ms: 0 };
    try {
      return await join(options, silence);
    } catch (error) {
      const wasCutOff = /EPIPE|ECONNRESET|socketClosed|closed without a status/.test((error as Error).message);
      if (!wasCutOff || silence.ms < MUCH_SILENCE_MS || triesLeft === 0) throw error;
    }
  }
}

function clientOptions(options: JoinOptions, silence: Silence) {
  const { host = '127.0.0.1', port, version, name, fakeHost, from, transferred = false } = options;
  loadVersion(version);
  // By protocol number: by name, releases that share their data with others resolve to wrong ones.
  const protocol = findVersion(version)?.protocol;
  return {
    host,
    port,
    username: name,
    version: protocol === undefined ? version : String(protocol),
    auth: 'offline' as const,
    hideErrors: true,
    checkTimeoutInterval: PATIENCE_MS,
    ...(fakeHost === undefined ? {} : { fakeHost }),
    connect: (client: Client) => {
      const begun = performance.now();
      const socket = connect({ host, port, ...(from !== undefined && { localAddress: from }) });
      socket.once('connect', () => (silence.ms = performance.now() - begun));
      if (transferred) sayTransferred(client);
      client.setSocket(socket);
    },
  };
}

const BEFORE_PLAY = [mc.states.HANDSHAKING, mc.states.LOGIN, mc.states.CONFIGURATION];

/**
 * Loads the data of a version for its clients and servers. The first time takes seconds and blocks this thread, so open
 * connections fall silent. Call it before they open.
 */
export function loadVersion(version: string, states: readonly mc.States[] = BEFORE_PLAY): void {
  const { version: data } = minecraftData(String(findVersion(version)?.protocol ?? version));
  // The library caches its codecs by this name.
  const named = { version: data.minecraftVersion!, isServer: false, customPackets: {} };
  for (const state of states) {
    mc.createSerializer({ ...named, state });
    mc.createDeserializer({ ...named, state });
  }
}

/** Sets the transfer intent in the handshake. The library always sends the login intent. */
function sayTransferred(client: Client): void {
  const write = client.write.bind(client);
  client.write = (name, params: object) =>
    write(name, name === 'set_protocol' ? { ...params, nextState: TRANSFER } : params);
}

interface Emitter {
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: (reason: string) => void): unknown;
  once(event: string, listener: () => void): unknown;
  end(reason?: string): void;
}

function talk(emitter: Emitter, chat: (text: string) => void) {
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const { promise: ended, resolve: settle } = Promise.withResolvers<string>();
  let lastWords = '';
  // An error is the reason of the end that follows. Without a listener it would end the process.
  emitter.on('error', (error) => {
    lastWords ||= error.message;
    settle(lastWords);
  });
  let over = false;
  emitter.on('end', (reason) => {
    over = true;
    settle(lastWords || reason);
  });
  return {
    lines,
    ended,
    chat,
    hear: (line: string) => {
      lines.push(line);
      for (const look of waiting) look();
    },
    kicked: (reason: string) => {
      lastWords = reason;
    },
    waitChat: async (pattern: RegExp, timeoutMs = ACTION_TIMEOUT_MS) => {
      const { promise, resolve } = Promise.withResolvers<string>();
      const look = () => {
        const line = lines.find((text) => pattern.test(text));
        if (line !== undefined) resolve(line);
      };
      waiting.add(look);
      look();
      try {
        return await within(timeoutMs, promise, () => `no chat like ${pattern} among ${JSON.stringify(lines)}`);
      } finally {
        waiting.delete(look);
      }
    },
    end: async () => {
      // Ending a second time would start a timer of 30 s that nothing stops.
      if (!over) emitter.end();
      await within(ACTION_TIMEOUT_MS, ended, () => 'the connection did not end');
    },
  };
}

async function joined(
  emitter: Emitter,
  client: Client,
  event: string,
  { ended }: { ended: Promise<string> },
  options: JoinOptions,
) {
  const begun = performance.now();
  const arrived = new Promise<void>((resolve) => emitter.once(event, resolve));
  const refused = ended.then((reason) => {
    const after = `after ${Math.round(performance.now() - begun)} ms, ${client.socket?.bytesRead ?? 0} bytes received`;
    throw new Error(`${options.name} could not join (${after}, state ${client.state}): ${reason}`);
  });
  // After the join, the end of the connection is no longer a failed join.
  refused.catch(() => undefined);
  try {
    const timeoutMs = options.timeoutMs ?? JOIN_TIMEOUT_MS;
    await within(
      timeoutMs,
      Promise.race([arrived, refused]),
      () => `${options.name} did not get in within ${timeoutMs} ms`,
    );
  } catch (error) {
    client.socket?.destroy();
    throw error;
  }
}

async function hold(bot: Bot, name: string): Promise<void> {
  const carried = bot.inventory.items().find((item) => item.name === name);
  if (carried) return bot.equip(carried, 'hand');
  const type = bot.registry.itemsByName[name];
  if (!type || bot.game.gameMode !== 'creative') throw new Error(`${bot.username} has no ${name}`);
  const Item = itemClass(bot.registry);
  await setCreativeSlot(bot, 36, new Item(type.id, 1));
  bot.setQuickBarSlot(0);
}

/** Sets a slot without the library's default wait of 400 ms for a refusal. */
function setCreativeSlot({ creative }: Bot, slot: number, item: object): Promise<void> {
  const set = creative.setInventorySlot as (slot: number, item: object, waitMs: number) => Promise<void>;
  return set(slot, item, 0);
}

async function loadedBlock(bot: Bot, { x, y, z }: Place) {
  const deadline = Date.now() + ACTION_TIMEOUT_MS;
  for (;;) {
    const block = bot.blockAt(new Vec3(x, y, z));
    if (block) return block;
    if (Date.now() > deadline) throw new Error(`no chunk came for ${x}, ${y}, ${z}`);
    await bot.waitForTicks(1);
  }
}

async function within<T>(timeoutMs: number, promise: Promise<T>, complaint: () => string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(complaint())), timeoutMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the text of a chat component: JSON text, an object, or NBT. */
function plainText(component: unknown): string {
  if (typeof component === 'string') {
    try {
      return plainText(JSON.parse(component));
    } catch {
      return component;
    }
  }
  if (Array.isArray(component)) return component.map(plainText).join('');
  if (typeof component !== 'object' || component === null) return '';
  const { type, value, text, translate, extra } = component as Record<string, unknown>;
  if (typeof type === 'string' && value !== undefined) return plainText(value);
  return plainText(text ?? translate ?? '') + plainText(extra ?? '');
}

function varInt(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value >>> 0;
  while (rest > 0x7f) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Buffer.from([...bytes, rest]);
}

function frame(...parts: Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([varInt(body.length), body]);
}

/** Reads a status response: frame length, packet id 0, JSON length, JSON. Returns undefined until it is whole. */
function statusIn(bytes: Buffer): StatusAnswer | undefined {
  let offset = 0;
  const readVarInt = () => {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = bytes[offset++];
      if (byte === undefined) return undefined;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    throw new Error('bad VarInt');
  };
  const [length, , jsonLength] = [readVarInt(), readVarInt(), readVarInt()];
  if (length === undefined || jsonLength === undefined || bytes.length < offset + jsonLength) return undefined;
  return JSON.parse(bytes.toString('utf8', offset, offset + jsonLength)) as StatusAnswer;
}
