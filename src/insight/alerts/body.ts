import { usdText } from '../../kernel/money.ts';
import { MINUTE_MS } from '../../kernel/units.ts';
import { EVENTS } from '../../notices/events.ts';
import { hostOf } from '../../servers/api/fields.ts';

/** An alert for the URL in a server's row. Instants are epoch ms. */
export type Notice =
  | { event: 'test'; at: number }
  | { event: 'tps.low'; at: number; tps: number; mspt: number; players: number }
  | { event: 'tps.recovered'; at: number; tps: number; mspt: number; players: number; openedAt: number }
  | { event: 'tps.ended'; at: number; openedAt: number }
  | { event: 'game.hung'; at: number; silentMs: number; restarts: boolean }
  | { event: 'stop.forced'; at: number }
  | { event: 'spendCap.reached'; at: number; capMicros: number; action: 'notify' | 'stop' };

interface Message {
  id: string;
  serverId: string;
  serverName: string;
  notice: Notice;
}

const SLACK_HOSTS = new Set(['hooks.slack.com', 'hooks.slack-gov.com']);
const NAME_CHARS = 80;
const DETAIL_CHARS = 500;
/** Discord's limit of a message. The texts above stay far below it, even if each character is escaped. */
const DISCORD_CHARS = 2_000;
const RED = 0xd6_45_41;
const GREEN = 0x3f_a3_5c;

/**
 * Returns the body for a webhook: a Slack message for Slack's hosts, otherwise one for Discord, which also holds the
 * plain figures for other receivers (https://api.slack.com/messaging/webhooks,
 * https://discord.com/developers/docs/resources/webhook#execute-webhook). User text cannot mention anyone or format
 * anything.
 */
export function webhookBody(url: string, { id, serverId, serverName, notice }: Message): object {
  const isSlack = SLACK_HOSTS.has(hostOf(new URL(url)));
  const { title, text, isGood } = wordsOf(notice, (isSlack ? slackText : discordText)(plain(serverName)));
  if (isSlack) return { text: `${title}\n${text}`, mrkdwn: false, link_names: false };
  const { event, at, ...figures } = notice;
  const since = 'openedAt' in notice && { openedAt: new Date(notice.openedAt).toISOString() };
  return {
    username: 'Dormouse',
    content: title,
    embeds: [{ description: text, color: isGood ? GREEN : RED, timestamp: new Date(at).toISOString() }],
    allowed_mentions: { parse: [] },
    dormouse: { id, event, serverId, at: new Date(at).toISOString(), ...figures, ...since },
  };
}

/** A stored notice for a webhook. */
export interface StoredNotice {
  /** A key of `EVENTS`. */
  event: string;
  detail: string;
  /** Epoch ms. */
  at: number;
}

interface NoticeMessage {
  id: string;
  accountId: string;
  /** Null for the whole account. */
  serverId: string | null;
  serverName: string | null;
  notice: StoredNotice;
}

const ACCOUNT = 'Your account';

/**
 * Returns the body of a notice: a message for Discord, or Slack on Slack's hosts, with the data in the field `dormouse`;
 * or the data alone. The data has `text`, a sentence.
 */
export function noticeBody(
  { url, format }: { url: string; format: 'discord' | 'json' },
  { id, accountId, serverId, serverName, notice }: NoticeMessage,
): object {
  const { event, at } = notice;
  const { kind, isGood, title } = EVENTS[event] ?? unknownEvent(event);
  const [name, detail] = [plain(serverName ?? ACCOUNT), plain(notice.detail, DETAIL_CHARS, '')];
  const text = title(name, detail);
  const since = new Date(at).toISOString();
  const data = { id, event, kind, at: since, accountId, serverId, serverName: serverName && name, text, detail };
  if (format === 'json') return data;
  const isSlack = SLACK_HOSTS.has(hostOf(new URL(url)));
  const escaped = isSlack ? slackText : discordText;
  const content = title(escaped(name), escaped(detail));
  if (isSlack) return { text: [content, escaped(detail)].join('\n').trim(), mrkdwn: false, link_names: false };
  const color = isGood ? GREEN : RED;
  return {
    username: 'Dormouse',
    content: content.slice(0, DISCORD_CHARS).toWellFormed(),
    embeds: detail === '' || text.includes(detail) ? [] : [{ description: escaped(detail), color, timestamp: since }],
    allowed_mentions: { parse: [] },
    dormouse: data,
  };
}

/** An event of a newer release that was stored before a downgrade. */
function unknownEvent(event: string): (typeof EVENTS)[string] {
  return { kind: 'updates', isGood: true, title: (name) => `${name}: ${event}` };
}

function wordsOf(notice: Notice, name: string): { title: string; text: string; isGood: boolean } {
  switch (notice.event) {
    case 'test':
      return {
        title: `Test alert for ${name}`,
        text: 'This webhook works. It receives the alerts of this server.',
        isGood: true,
      };
    case 'tps.low':
      return {
        title: `${name} is slow: ${figure(notice.tps)} of 20 ticks per second`,
        text: `A tick takes ${figure(notice.mspt)} ms, with ${playersOnline(notice.players)}. You will be notified when it recovers.`,
        isGood: false,
      };
    case 'tps.recovered':
      return {
        title: `${name} has recovered: ${figure(notice.tps)} ticks per second`,
        text: `It was slow for ${duration(notice.at - notice.openedAt)}. Now it has ${playersOnline(notice.players)}.`,
        isGood: true,
      };
    case 'tps.ended':
      return {
        title: `${name} was stopped while it was slow`,
        text: `It was slow for ${duration(notice.at - notice.openedAt)}.`,
        isGood: true,
      };
    case 'game.hung':
      return {
        title: `${name} stopped responding and was ended`,
        text: `It did not respond for ${duration(notice.silentMs)}. ${notice.restarts ? 'It restarts automatically, once.' : 'It does not restart automatically.'}`,
        isGood: false,
      };
    case 'stop.forced':
      return {
        title: `${name} did not stop in time and was killed`,
        text: 'It was asked to save and stop. Unsaved changes are lost.',
        isGood: false,
      };
    case 'spendCap.reached': {
      const follows = notice.action === 'stop' ? 'Servers are being put to sleep.' : 'Servers keep running.';
      return {
        title: `This month’s spend cap is reached: ${usdText(notice.capMicros)}`,
        text: `The cap applies to the account of ${name}. ${follows}`,
        isGood: false,
      };
    }
    default:
      return notice satisfies never;
  }
}

function figure(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function playersOnline(players: number): string {
  return players === 1 ? '1 player online' : `${players} players online`;
}

function duration(ms: number): string {
  const minutes = Math.max(1, Math.round(ms / MINUTE_MS));
  return minutes === 1 ? 'a minute' : `${minutes} minutes`;
}

/** Returns one line without invisible characters: controls, and marks that change the writing direction. */
function plain(text: string, most = NAME_CHARS, none = 'A server'): string {
  const visible = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ').replaceAll(/\s+/g, ' ');
  return visible.toWellFormed().trim().slice(0, most).toWellFormed() || none;
}

/** Escapes all punctuation, so that the text cannot format, link, quote or mention anyone. */
function discordText(text: string): string {
  return text.replaceAll(/[!-/:-@[-`{-~]/g, (mark) => `\\${mark}${mark === '@' ? '\u200B' : ''}`);
}

/**
 * Escapes text for Slack (https://api.slack.com/reference/surfaces/formatting#escaping). Without mrkdwn, no other
 * character is special.
 */
function slackText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('@', '@\u200B');
}
