import { JoinRefused } from '../../proxy/ports.ts';
import { StatusError } from '../kernel/status.ts';
import { STOP_TEXTS } from '../servers/last-call.ts';

/** What is said of a rule that is against a wake. */
interface Words {
  /** To the player who is refused. */
  kick: string;
  /** In the server list, in place of how to wake it; `§` codes. */
  line: string;
}

/** What a player who cannot wake a server is told. */
export function refusalOf(error: unknown): JoinRefused {
  return new JoinRefused(wordsOf(error).kick, { cause: error });
}

/** What the server list says of a sleeping server that a rule keeps from being woken. */
export function refusalLine(error: StatusError): string {
  return wordsOf(error).line;
}

/** What players are told of a server whose machine does not answer, and may still run it. */
export function lostWords(name: string): Words {
  return {
    kick:
      `The machine that ${name} is on does not answer right now.\n` +
      'It goes on as soon as that machine is back, or is surely off. Try again in a few minutes.',
    line: '§cIts machine does not answer right now',
  };
}

/** What players are told who waited for a start that has found no room. */
export function roomWords(name: string): string {
  return `There is no room for ${name} right now.\nIt starts by itself as soon as there is. Try again in a few minutes.`;
}

/** What a player is told of a reason that has a name; undefined: it has none here. */
export function kickOf(reason: string): string | undefined {
  return REFUSALS[reason]?.kick;
}

function wordsOf(error: unknown): Words {
  if (!(error instanceof StatusError)) return UNKNOWN;
  const isForEver = error.options.metadata?.['fits'] === 'never';
  return (isForEver ? NEVER[error.reason] : undefined) ?? REFUSALS[error.reason] ?? UNKNOWN;
}

const UNKNOWN: Words = {
  kick: 'This server cannot be woken right now. Try again in a minute.',
  line: '§7Not available right now',
};

/** Where waiting does not help. */
const NEVER: Record<string, Words> = {
  MAX_RAM: {
    kick: 'This server is set to more memory than its owner may use: ask its owner to reduce it.',
    line: '§7Asleep: §fset to more memory than it may have',
  },
  NODE_CAPACITY: {
    kick: 'This server is set to more memory than there is here: ask its owner to reduce it.',
    line: '§7Asleep: §fset to more memory than there is',
  },
};

const REFUSALS: Record<string, Words> = {
  MAX_SERVERS: {
    kick: 'Too many servers of this owner are awake. Try again when one of them sleeps.',
    line: '§7Asleep: §funtil another of its owner’s sleeps',
  },
  MAX_RAM: {
    kick: 'The other servers of this owner use all its memory. Try again when one of them sleeps.',
    line: '§7Asleep: §funtil another of its owner’s sleeps',
  },
  NODE_CAPACITY: {
    kick: 'All places here are taken right now. Try again in a few minutes.',
    line: '§7Asleep: §fall places here are taken now',
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
    kick: 'The servers of this owner fill their disk: room has to be made before this one can wake.',
    line: '§7Asleep: §fits disk is full',
  },
  EULA_NOT_ACCEPTED: {
    kick: "This server's owner has to agree to Minecraft's licence (EULA) before it can wake.",
    line: '§7Asleep: §fits owner has to agree to the EULA',
  },
  UPLOADED_CODE_NOT_ALLOWED: {
    kick: 'Servers of this type are not run here; its owner knows more.',
    line: '§7Asleep: §fnot run here',
  },
  SERVER_SUSPENDED: {
    kick: 'This server is suspended by the host. Ask its owner.',
    line: '§7Suspended by the host',
  },
  NODE_DRAINED: {
    kick: 'Servers are not started here right now. Try again later.',
    line: '§7Asleep: §fnothing is started here right now',
  },
  REGION_DOWN: {
    kick: 'No machine that could run this server answers right now. Try again in a few minutes.',
    line: '§7Asleep: §fno machine for it answers',
  },
  WAKES_USED_UP: {
    kick: 'This server has been woken often enough for today. Come back tomorrow, or ask its owner.',
    line: '§7Asleep: §fwoken often enough for today',
  },
  SERVER_NOT_FOUND: { kick: 'This server was deleted.', line: UNKNOWN.line },
  SERVER_INSTALLING: { kick: 'This server is being set up. Come back in a few minutes.', line: UNKNOWN.line },
  SERVER_INSTALL_FAILED: {
    kick: 'This server is not set up yet; its owner has to look at it.',
    line: UNKNOWN.line,
  },
  SERVER_START_FAILED: { kick: 'This server has a problem and needs its owner.', line: UNKNOWN.line },
};
