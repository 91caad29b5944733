import { JoinRefused } from '../../proxy/ports.ts';
import { StatusError } from '../kernel/status.ts';
import { STOP_TEXTS } from '../servers/last-call.ts';

/** The texts for a rule that refuses a wake. */
interface Words {
  /** Kick message for the refused player. */
  kick: string;
  /** Server-list line that replaces the hint how to wake the server; `§` codes. */
  line: string;
}

/** Returns the kick of a player who cannot wake a server. */
export function refusalOf(error: unknown): JoinRefused {
  return new JoinRefused(wordsOf(error).kick, { cause: error });
}

/** Returns the server-list line of a sleeping server that cannot be woken because of a rule. */
export function refusalLine(error: StatusError): string {
  return wordsOf(error).line;
}

/** Texts for a server whose machine is not responding and may still run it. */
export function lostWords(name: string): Words {
  return {
    kick:
      `The machine that ${name} is on is not responding.\n` +
      'It continues when that machine is back. Try again in a few minutes.',
    line: '§cIts machine is not responding',
  };
}

/** The kick message for a player whose start found no room. */
export function roomWords(name: string): string {
  return `There is no room for ${name} right now.\nIt starts automatically when there is. Try again in a few minutes.`;
}

/** Returns the kick message for a reason; undefined if it has none here. */
export function kickOf(reason: string): string | undefined {
  return REFUSALS[reason]?.kick;
}

function wordsOf(error: unknown): Words {
  if (!(error instanceof StatusError)) return UNKNOWN;
  const isForEver = error.options.metadata?.['fits'] === 'never';
  return (isForEver ? NEVER[error.reason] : undefined) ?? REFUSALS[error.reason] ?? UNKNOWN;
}

const UNKNOWN: Words = {
  kick: "This server can't start right now. Try again in a minute.",
  line: '§7Not available right now',
};

/** Reasons that waiting cannot resolve. */
const NEVER: Record<string, Words> = {
  MAX_RAM: {
    kick: "This server's memory exceeds its owner's limit. Ask its owner to reduce it.",
    line: '§7Asleep: §fmemory over its limit',
  },
  NODE_CAPACITY: {
    kick: "This server's memory exceeds what this host has. Ask its owner to reduce it.",
    line: '§7Asleep: §fneeds too much memory',
  },
};

const REFUSALS: Record<string, Words> = {
  MAX_SERVERS: {
    kick: "Too many of this owner's servers are running. Try again when one of them sleeps.",
    line: "§7Asleep: §fowner's limit reached",
  },
  MAX_RAM: {
    kick: "The owner's other servers use all the memory. Try again when one of them sleeps.",
    line: "§7Asleep: §fowner's limit reached",
  },
  NODE_CAPACITY: {
    kick: 'This host is full right now. Try again in a few minutes.',
    line: '§7Asleep: §fthis host is full',
  },
  INSUFFICIENT_FUNDS: {
    kick: STOP_TEXTS['funds']!,
    line: '§7Asleep: §fout of credit',
  },
  SPEND_CAP_REACHED: {
    kick: STOP_TEXTS['spend_cap']!,
    line: '§7Asleep: §fspend cap reached',
  },
  QUOTA_EXCEEDED: {
    kick: STOP_TEXTS['quota']!,
    line: '§7Asleep: §fits disk is full',
  },
  ACCOUNT_DISK_EXCEEDED: {
    kick: "The owner's disk space is used up. Ask the owner to free some.",
    line: '§7Asleep: §fits disk is full',
  },
  EULA_NOT_ACCEPTED: {
    kick: "This server's owner must accept the Minecraft EULA before it can start.",
    line: '§7Asleep: §fEULA not accepted yet',
  },
  UPLOADED_CODE_NOT_ALLOWED: {
    kick: "This host can't run this type of server. Ask its owner.",
    line: '§7Asleep: §fnot run here',
  },
  SERVER_SUSPENDED: {
    kick: 'This server is suspended by the host. Ask its owner.',
    line: '§7Suspended by the host',
  },
  NODE_DRAINED: {
    kick: 'Starts are paused here. Try again later.',
    line: '§7Asleep: §fstarts are paused',
  },
  REGION_DOWN: {
    kick: 'No machine that can run this server is responding. Try again in a few minutes.',
    line: '§7Asleep: §fno machine available',
  },
  WAKES_USED_UP: {
    kick: 'This server reached its daily wake limit. Try again tomorrow, or ask its owner.',
    line: '§7Asleep: §fdaily wake limit reached',
  },
  SERVER_NOT_FOUND: { kick: 'This server was deleted.', line: UNKNOWN.line },
  SERVER_INSTALLING: { kick: 'This server is being set up. Come back in a few minutes.', line: UNKNOWN.line },
  SERVER_INSTALL_FAILED: {
    kick: 'This server is not set up yet. Ask its owner.',
    line: UNKNOWN.line,
  },
  SERVER_START_FAILED: { kick: 'This server has a problem. Ask its owner.', line: UNKNOWN.line },
};
