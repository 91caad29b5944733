import { PROTOCOL } from '../handshake.ts';
import type { Route } from '../ports.ts';
import { cleanText, plainText, toComponent } from '../text.ts';
import { PHASES } from '../texts.ts';
import { type NbtCompound, componentNbt } from './packets.ts';

/** The state shown to a waiting player. */
export interface WaitingView {
  route: Route;
  /** Place in the queue, from 1; 0 if unknown, null if not queued. */
  place: number | null;
  /** Seconds left of a typical start; null if unknown or exceeded. */
  leftSeconds: number | null;
  waitedSeconds: number;
  /**
   * Other players who wait for the same server: the first names in order of arrival, and the number of further ones.
   */
  others: { names: readonly string[]; more: number };
}

/** The id sent by the button of each dialog. */
export const LEAVE = 'dormouse:leave';

const NAME_UNITS = 64;
const MOTD_UNITS = 2_048;
const TEXT_UNITS = 2_048;
const PHASE_UNITS = 40;
const BODY_WIDTH = 300;
const BAR_PARTS = 40;
const ORDINALS = new Intl.PluralRules('en', { type: 'ordinal' });
const ENDINGS: Partial<Record<Intl.LDMLPluralRule, string>> = { one: 'st', two: 'nd', few: 'rd' };

/** Builds a dialog with the server's name and description, the progress of its start, and the other waiting players. */
export function waitingDialog(view: WaitingView): NbtCompound {
  const { route, others } = view;
  return dialog(route.name, 'Leave', [
    cleanText(route.motd, MOTD_UNITS),
    (view.place === null ? [`§f${stateOf(route)}`, bar(view), timeLeft(view)] : inLine(view.place))
      .filter(Boolean)
      .join('\n'),
    others.names.length === 0 ? '' : `§7Also waiting: ${others.names.join(', ')}${moreOf(others.more)}`,
    '§7You join automatically when the server is ready.',
  ]);
}

/** Builds a dialog that explains why the player cannot join, and what to do. */
export function failureDialog(route: Route, text: string): NbtCompound {
  return dialog(route.name, 'Back to the server list', [cleanText(text, TEXT_UNITS)]);
}

/**
 * Builds a dialog with one button. It stays open until another dialog replaces it (since 1.21.6: Dialog description
 * format).
 */
function dialog(title: string, button: string, paragraphs: readonly string[]): NbtCompound {
  const body = paragraphs
    .filter((text) => text !== '')
    .map((text) => ({ type: 'minecraft:plain_message', contents: component(text), width: BODY_WIDTH }));
  return {
    type: 'minecraft:notice',
    title: { text: plainText(cleanText(title, NAME_UNITS)) },
    body,
    can_close_with_escape: false,
    pause: false,
    after_action: 'none',
    action: { label: { text: button }, action: { type: 'minecraft:custom', id: LEAVE } },
  };
}

function component(text: string): NbtCompound {
  return componentNbt(toComponent(text, PROTOCOL.V1_21_6));
}

function inLine(place: number): string[] {
  const where = place === 0 ? 'You are in line' : `You are ${ordinal(place)} in line`;
  return [`§f${where}`, '§7This host is full. The server starts when there is capacity.'];
}

function ordinal(count: number): string {
  return `${count}${ENDINGS[ORDINALS.select(count)] ?? 'th'}`;
}

function stateOf({ state, phase }: Route): string {
  switch (state) {
    case 'starting':
      return PHASES.get(phase) ?? (plainText(cleanText(phase, PHASE_UNITS)) || 'Starting');
    case 'running':
      return 'Almost ready';
    case 'stopping':
      return 'Saving the world, then restarting';
    case 'installing':
      return 'Installing';
    case 'hibernated':
    case 'install_failed':
    case 'start_failed':
      return 'Waking up';
    default:
      return state satisfies never;
  }
}

/** Returns a bar for the progress of the wait or of the present phase; '' if neither is known (negative percent). */
function bar({ route, leftSeconds, waitedSeconds }: WaitingView): string {
  const done = leftSeconds === null ? route.percent / 100 : waitedSeconds / (waitedSeconds + leftSeconds);
  if (!(done > 0)) return '';
  const parts = Math.round(Math.min(1, done) * BAR_PARTS);
  return `§a${'|'.repeat(parts)}§8${'|'.repeat(BAR_PARTS - parts)}`;
}

function timeLeft({ route, leftSeconds }: WaitingView): string {
  if (leftSeconds === null)
    return route.percent > 0 && route.state === 'starting' ? `§7${Math.round(route.percent)} %` : '';
  return leftSeconds < 120 ? `§7About ${leftSeconds} s` : `§7About ${Math.round(leftSeconds / 60)} min`;
}

function moreOf(count: number): string {
  return count === 0 ? '' : ` and ${count} more`;
}
