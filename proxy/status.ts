import { readFileSync } from 'node:fs';
import { encodeFrame, encodeString } from './codec.ts';
import type { LegacyStatus } from './legacy.ts';
import { type LiveAnswer, LiveStatus, jsonOf } from './live-status.ts';
import { STATUS_JSON_UNITS, type StatusAnswer, field, parseStatus, pingStatus } from './ping.ts';
import type { Route } from './ports.ts';
import type { Timings } from './settings.ts';
import { cleanText, plainText, toComponent, wordsOf } from './text.ts';
import { PHASES, TEXTS } from './texts.ts';

/** Two lines of 128 characters, each with a colour and all formats of its own. */
const MOTD_UNITS = 8_192;
const PHASE_UNITS = 40;
const VERSION_UNITS = 64;
/** Frames kept per route, for as long as the route is the current one; clients speak about one protocol a year. */
const MAX_FRAMES = 32;
/** A client chooses as which protocol and by which name it asks, so what one game may take is bounded by itself, too. */
const LIVE_LIMITS = { maxEntries: 2_000, maxEntriesPerGame: MAX_FRAMES, maxBytes: 32 * 1024 * 1024, maxAsked: 8 };
/** For a server that has shown none of its own: a dormouse, asleep. */
export const ASLEEP_ICON = `data:image/png;base64,${readFileSync(new URL('asleep.png', import.meta.url)).toString('base64')}`;
const FAVICON = /^data:image\/png;base64,[A-Za-z0-9+/=]+$/;
/** Fields of a live status that stay true while the server is down; the last ones are dropped first to save room. */
const KEPT_FIELDS = ['enforcesSecureChat', 'previewsChat', 'favicon', 'modinfo', 'forgeData'] as const;

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

  /** The response frame for a client of `protocol`, unless the game must be asked for it. */
  ready(route: Route, protocol: number): Buffer | undefined {
    return route.state === 'running' ? undefined : this.#asleepFrame(route, protocol);
  }

  /** The response frame for a client of `protocol` that asked by the name `host`. Never rejects. */
  async frame(route: Route, host: string, protocol: number): Promise<Buffer> {
    const live = route.state === 'running' ? await this.#ask(route, host, protocol) : undefined;
    return live?.frame ?? this.#asleepFrame(route, protocol);
  }

  /** The status for clients before 1.7. Never rejects. */
  async legacy(route: Route, host: string): Promise<LegacyStatus> {
    const live = route.state === 'running' ? await this.#ask(route, host, LEGACY_PROTOCOL) : undefined;
    const lines = live
      ? wordsOf(field(JSON.parse(jsonOf(live)), 'description'))
          .split('\n')
          .slice(0, 1)
      : description(route).map(plainText);
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
    // A game that was started anew is another game, even at the same address.
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
    const frame = encodeFrame(0, encodeString(asleepStatus(route, protocol)));
    if (frames.size >= MAX_FRAMES) frames.clear();
    frames.set(protocol, frame);
    return frame;
  }
}

/** 1.8: every game answers it, and without styles that would have to be taken out again. */
const LEGACY_PROTOCOL = 47;

/**
 * The status JSON of a server whose game does not answer: what it last said of itself, without players, under a line
 * on its state. The client's own protocol is echoed, since a mismatch would show the version in red in place of it; but for a
 * server that such a client could not play on.
 */
export function asleepStatus(route: Route, protocol: number): string {
  const last = lastStatusOf(route);
  const fields: [string, unknown][] = [
    [
      'version',
      {
        name: versionNameOf(route, last.versionName),
        protocol: route.protocol ?? (protocol > 0 ? protocol : last.protocol || protocol),
      },
    ],
    ['players', { max: last.playersMax || route.maxPlayers, online: 0 }],
    ['description', toComponent(description(route).join('\n'), protocol)],
  ];
  const needed = fields.length;
  for (const name of KEPT_FIELDS) {
    const value = field(last.json, name);
    if (value !== undefined && (name !== 'favicon' || isFavicon(value))) fields.push([name, value]);
  }
  if (!fields.some(([name]) => name === 'favicon')) fields.push(['favicon', ASLEEP_ICON]);
  for (;;) {
    const json = JSON.stringify(Object.fromEntries(fields));
    if (json.length <= STATUS_JSON_UNITS || fields.length === needed) return json;
    fields.pop();
  }
}

function isFavicon(value: unknown): boolean {
  return typeof value === 'string' && FAVICON.test(value);
}

interface LastStatus extends Omit<StatusAnswer, 'raw'> {
  json: unknown;
}

function lastStatusOf(route: Route): LastStatus {
  const nothing: LastStatus = { playersOnline: 0, playersMax: 0, versionName: '', protocol: 0, json: undefined };
  if (!route.lastStatus || route.lastStatus.length > STATUS_JSON_UNITS) return nothing;
  try {
    const json: unknown = JSON.parse(route.lastStatus);
    // JSON nested too deeply to be written again must fail here, where only the remembered status is lost.
    JSON.stringify(json);
    return { ...parseStatus(route.lastStatus), json };
  } catch {
    return nothing;
  }
}

/** The game's own words ("Paper 1.21.4") unless the server has been set to another version since. */
function versionNameOf(route: Route, last: string): string {
  return cleanText(last !== '' && last.includes(route.versionName) ? last : route.versionName, VERSION_UNITS);
}

/** The lines of the description: the owner's own for a sleeping server, else the server's with its state below. */
function description(route: Route): string[] {
  const isAsleep = route.state === 'hibernated' && route.refusal === '';
  if (isAsleep && route.asleepMotd !== '') return cleanText(route.asleepMotd, MOTD_UNITS).split('\n').slice(0, 2);
  return [describe(route), overlay(route)].filter(Boolean);
}

/** The first line of what the owner wrote: the second belongs to the state. */
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

/** In the middle of a sentence; '' for the first, which says no more than that it starts. */
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
