import { encodeFrame, encodeString } from './codec.ts';
import type { Context, KickRule } from './context.ts';
import { JoinRefused, type Player } from './ports.ts';
import { cleanText, plainText, toComponent } from './text.ts';
import { TEXTS } from './texts.ts';

const TEXT_UNITS = 2048;
const LOGGED_UNITS = 300;
/** Rules of kicks that scanners cause all the time. They are logged at the debug level. */
const NOISE: ReadonlySet<string> = new Set(['badName', 'tooFast']);

/** Thrown to disconnect the player with a message. */
export class Kick extends Error {
  readonly rule: KickRule;
  readonly text: string;
  constructor(rule: Exclude<KickRule, 'refused'>, options?: { cause?: unknown });
  constructor(rule: 'refused', options: { cause?: unknown; text: string });
  constructor(rule: KickRule, options: { cause?: unknown; text?: string } = {}) {
    super(rule, { cause: options.cause });
    this.name = 'Kick';
    this.rule = rule;
    this.text = options.text ?? (rule === 'refused' ? '' : TEXTS[rule]);
  }
}

/** Counts and logs a kick. */
export function noteKick(kick: Kick, { host, player }: { host: string; player: Player }, context: Context): void {
  const { counters, log } = context;
  counters.kicks[kick.rule]++;
  const level = NOISE.has(kick.rule) ? 'debug' : 'info';
  const { name, protocol } = player;
  // A refusal is not a failure, and its text already gives the reason.
  const err = kick.cause instanceof JoinRefused ? undefined : kick.cause;
  const why = plainText(cleanText(kick.text, LOGGED_UNITS)).replaceAll('\n', ' ');
  log[level]({ host, player: name, protocol, rule: kick.rule, err }, `${name} could not join ${host}: ${why}`);
}

/** Encodes a Disconnect of the login state, whose text is JSON in every version. */
export function disconnectFrame(text: string, protocol: number): Buffer {
  return encodeFrame(0x00, encodeString(JSON.stringify(toComponent(cleanText(text, TEXT_UNITS), protocol))));
}
