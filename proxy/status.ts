import { readFileSync } from 'node:fs';
import { encodeFrame, encodeString } from './codec.ts';
import type { LegacyStatus } from './legacy.ts';
import { type LiveAnswer, LiveStatus, jsonOf } from './live-status.ts';
import { STATUS_JSON_UNITS, type StatusAnswer, field, parseStatus, pingStatus } from './ping.ts';
import type { Route } from './ports.ts';
import type { Timings } from './settings.ts';
import { cleanText, plainText, toComponent, wordsOf } from './text.ts';
import { PHASES, TEXTS } from './texts.ts';

/** Limit of a description: two lines of 128 characters, each with its own colour and all formats. */
const MOTD_UNITS = 8_192;
const PHASE_UNITS = 40;
const VERSION_UNITS = 64;
/**
 * Most frames cached per route, one for each protocol version. Clients use about one version for each year of releases.
 */
const MAX_FRAMES = 32;
/** Clients choose the protocol and host name of their requests, so each game also has its own limit. */
const LIVE_LIMITS = { maxEntries: 2_000, maxEntriesPerGame: MAX_FRAMES, maxBytes: 32 * 1024 * 1024, maxAsked: 8 };
/** Icon of a server without an icon of its own: a sleeping dormouse. */
export const ASLEEP_ICON = `data:image/png;base64,${readFileSync(new URL('asleep.png', import.meta.url)).toString('base64')}`;
/** Line breaks are allowed because old games insert them. */
const FAVICON = /^data:image\/png;base64,[A-Za-z0-9+/=\r\n]+$/;
/** Status fields that this proxy writes itself. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['version', 'players', 'description']);
/** Fields by which modded clients recognise a compatible server. If space is short, they are dropped last. */
const MOD_FIELDS: ReadonlySet<string> = new Set(['isModded', 'modpackData', 'modinfo', 'forgeData']);

/** Answers status requests (protocol: Server List Ping). */
export class StatusResponder {
  readonly #timings: Timings;
  readonly #live: LiveStatus;
  readonly #frames = new WeakMap<Route, Map<number, Buffer>>();

  constructor(timings: Timings, now: () => number) {
    this.#timings = timings;
    const { statusFreshMs: freshMs, statusStaleMs: staleMs } = timings;
    this.#live = new LiveStatus({ freshMs, staleMs, ...LIVE_LIMITS, now });
  }

  /** Returns the response frame for a client of `protocol`; undefined if the game must be queried. */
  ready(route: Route, protocol: number): Buffer | undefined {
    return route.state === 'running' ? undefined : this.#asleepFrame(route, protocol);
  }

  /** Resolves with the response frame for a client of `protocol` that used `host`. Never rejects. */
  async frame(route: Route, host: string, protocol: number): Promise<Buffer> {
    const live = route.state === 'running' ? await this.#ask(route, host, protocol) : undefined;
    return live?.frame ?? this.#asleepFrame(route, protocol);
  }

  /** Resolves with the status for clients before 1.7. Never rejects. */
  async legacy(route: Route, host: string): Promise<LegacyStatus> {
    const live = route.state === 'running' ? await this.#ask(route, host, LEGACY_PROTOCOL) : undefined;
    const lines = live
      ? wordsOf(field(JSON.parse(jsonOf(live)), 'description'))
          .split('\n')
          .slice(0, 1)
      : statusLines(route).map(plainText);
    return {
      motd: cleanText(lines.join(': '), MOTD_UNITS).replaceAll('\n', ' '),
      versionName: live?.versionName || route.versionName,
      online: live?.playersOnline ?? 0,
      max: live?.playersMax ?? route.maxPlayers,
    };
  }

  #ask(route: Route, host: string, protocol: number): Promise<LiveAnswer | undefined> {
    const { address } = route;
    if (!address) return Promise.resolve(undefined);
    // A restarted game counts as another game, even at the same address.
    const game = [route.serverId, address.host, address.port, route.readyAt].join('|');
    return this.#live.get(game, `${host}|${protocol}`, () =>
      pingStatus(address, { protocol, host, timeoutMs: this.#timings.pingMs }),
    );
  }

  #asleepFrame(route: Route, protocol: number): Buffer {
    const frames = this.#frames.get(route) ?? new Map<number, Buffer>();
    this.#frames.set(route, frames);
    const known = frames.get(protocol);
    if (known) return known;
    const frame = encodeFrame(0, encodeString(asleepStatus(route, protocol)), lastStatusOf(route).tail);
    if (frames.size >= MAX_FRAMES) frames.clear();
    frames.set(protocol, frame);
    return frame;
  }
}

/** The protocol of 1.8. Every game answers it, without styles that would have to be removed. */
const LEGACY_PROTOCOL = 47;

/**
 * Returns the status JSON of a server whose game does not answer: its last status without players, with a line for its
 * state. The protocol is the client's own, because a mismatch would show the version in red instead. If the server
 * accepts only one protocol, that one is used.
 */
export function asleepStatus(route: Route, protocol: number): string {
  const last = lastStatusOf(route);
  const version = {
    name: versionNameOf(route, last.versionName),
    protocol: route.protocol ?? (protocol > 0 ? protocol : last.protocol || protocol),
  };
  const players = { max: last.playersMax || route.maxPlayers, online: 0 };
  const lines = statusLines(route).join('\n');
  const own = JSON.stringify({ version, players, description: toComponent(lines, protocol) });
  const kept = keptFields(last.json, STATUS_JSON_UNITS - own.length);
  return kept.length === 0 ? own : `${own.slice(0, -1)},${kept.join(',')}}`;
}

/**
 * Returns the other fields of a game's last status, as JSON. If they exceed `units`, unknown fields are dropped first
 * (largest first), then the icon, then the mod fields.
 */
function keptFields(last: unknown, units: number): string[] {
  const all = typeof last === 'object' && last !== null && !Array.isArray(last) ? Object.entries(last) : [];
  const kept = all
    .filter(([name, value]) => !OWN_FIELDS.has(name) && (name !== 'favicon' || isFavicon(value)))
    .map(([name, value]) => ({ name, json: `${JSON.stringify(name)}:${JSON.stringify(value)}` }));
  let room = units - kept.reduce((sum, { json }) => sum + json.length + 1, 0);
  const dropped = new Set<string>();
  for (const { name, json } of kept.toSorted(byWorth)) {
    if (room >= 0) break;
    dropped.add(name);
    room += json.length + 1;
  }
  const fields = kept.filter(({ name }) => !dropped.has(name));
  const hasIcon = fields.some(({ name }) => name === 'favicon');
  const icon = `"favicon":${JSON.stringify(ASLEEP_ICON)}`;
  return [...fields.map(({ json }) => json), ...(!hasIcon && room > icon.length ? [icon] : [])];
}

function byWorth(one: { name: string; json: string }, other: { name: string; json: string }): number {
  return worthOf(one.name) - worthOf(other.name) || other.json.length - one.json.length;
}

function worthOf(name: string): number {
  if (MOD_FIELDS.has(name)) return 2;
  return name === 'favicon' ? 1 : 0;
}

function isFavicon(value: unknown): boolean {
  return typeof value === 'string' && FAVICON.test(value);
}

interface LastStatus extends Omit<StatusAnswer, 'raw'> {
  json: unknown;
}

function lastStatusOf(route: Route): LastStatus {
  const tail = Buffer.alloc(0);
  const nothing: LastStatus = { playersOnline: 0, playersMax: 0, versionName: '', protocol: 0, tail, json: undefined };
  // A second line contains the bytes after the JSON, in Base64.
  const [text = '', behind = ''] = route.lastStatus?.split('\n', 2) ?? [];
  if (text === '' || text.length > STATUS_JSON_UNITS) return nothing;
  try {
    const json: unknown = JSON.parse(text);
    // JSON nested too deeply to serialize must fail here, because only the stored status is lost then.
    JSON.stringify(json);
    return { ...parseStatus(text, Buffer.from(behind, 'base64')), json };
  } catch {
    return nothing;
  }
}

/** Returns the game's own version name ("Paper 1.21.4"), unless the server's version has changed since. */
function versionNameOf(route: Route, last: string): string {
  return cleanText(last !== '' && last.includes(route.versionName) ? last : route.versionName, VERSION_UNITS);
}

/**
 * Returns the description's lines: the owner's text for a sleeping server, else the first line of the server's
 * description and its state.
 */
export function statusLines(route: Route): string[] {
  const isAsleep = route.state === 'hibernated' && route.refusal === '';
  if (isAsleep && route.asleepMotd !== '') return cleanText(route.asleepMotd, MOTD_UNITS).split('\n').slice(0, 2);
  return [describe(route), overlay(route)].filter(Boolean);
}

/** Returns the first line of the owner's description. The second is for the state. */
function describe(route: Route): string {
  const [first = ''] = cleanText(route.motd, MOTD_UNITS).split('\n');
  return first.trim() || TEXTS.defaultMotd;
}

function overlay(route: Route): string {
  if (route.refusal !== '') {
    return cleanText(route.asleepLine, MOTD_UNITS) || (route.state === 'running' ? TEXTS.silent : TEXTS.unavailable);
  }
  switch (route.state) {
    case 'hibernated':
      return cleanText(route.asleepLine, MOTD_UNITS) || TEXTS.asleep;
    case 'starting':
      return progress('§6Starting', route);
    case 'installing':
      return progress('§6Installing', route);
    case 'stopping':
      return TEXTS.stopping;
    case 'install_failed':
    case 'start_failed':
      return TEXTS.needsOwner;
    case 'running':
      return '';
    default:
      return route.state satisfies never;
  }
}

function progress(what: string, route: Route): string {
  if (route.percent < 0) return what;
  const percent = Math.round(Math.min(100, route.percent));
  const done = [phaseOf(route), percent > 0 ? `${percent} %` : ''].filter(Boolean).join(' ');
  const eta = route.etaSeconds === null ? '' : `about ${duration(route.etaSeconds)}`;
  const more = [done, eta].filter(Boolean).join(', ');
  return more === '' ? what : `${what}§7: ${more}`;
}

/** Returns the phase for the middle of a sentence; '' for the first phase, which only means "starting". */
function phaseOf({ phase }: Route): string {
  if (phase === 'starting') return '';
  const words = PHASES.get(phase);
  if (words !== undefined) return words.charAt(0).toLowerCase() + words.slice(1);
  return plainText(cleanText(phase, PHASE_UNITS)).replaceAll('\n', ' ').trim();
}

function duration(seconds: number): string {
  const whole = Math.max(1, Math.ceil(seconds));
  return whole < 120 ? `${whole} s` : `${Math.round(whole / 60)} min`;
}
