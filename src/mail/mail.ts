import { domainToASCII } from 'node:url';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';

/** A plain-text e-mail. */
export interface Mail {
  to: string;
  /** One line. */
  subject: string;
  text: string;
}

/** Sends e-mails. */
export interface Mailer {
  /** Resolves once the e-mail was accepted for delivery; rejects if it was not. */
  send(mail: Mail): Promise<void>;
}

/** The e-mails of this installation, sent in the background. */
export class Post {
  /** The pages' base URL for browsers; links in e-mails begin with it. */
  readonly baseUrl: string;
  /** Whether a mail server is set up. Without one, e-mails (logged instead) must contain no secrets. */
  readonly isSetUp: boolean;
  readonly #mailer: Mailer;
  readonly #log: Log;
  readonly #running = new Set<Promise<void>>();

  constructor(mailer: Mailer, log: Log, { baseUrl, isSetUp }: { baseUrl: string; isSetUp: boolean }) {
    this.#mailer = mailer;
    this.#log = log;
    this.baseUrl = baseUrl;
    this.isSetUp = isSetUp;
  }

  /** Sends an e-mail. The action it reports is already done and must not fail because of the mail server. */
  send(mail: Mail): void {
    this.#mailer.send(mail).catch((error: unknown) => this.#log.error({ err: error }, 'an e-mail could not be sent'));
  }

  /**
   * Starts work that may end in an e-mail, while its caller gets the answer at once. `what` names the work in the log
   * if it fails.
   */
  prepare(what: string, work: () => Promise<void>): void {
    const run = async () => {
      try {
        await work();
      } catch (error) {
        this.#log.error({ err: error }, `${what} failed`);
      }
    };
    const ended = run().finally(() => this.#running.delete(ended));
    this.#running.add(ended);
  }

  /** Resolves once all prepared work has ended. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}

const LONGEST = 254;
const LOCAL_PART = /^[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const DOMAIN = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/;

/**
 * Returns an e-mail address in its stored and compared form: trimmed, in lower case, its domain in ASCII (RFC 5890).
 * Undefined if it is invalid: only dot-atoms are allowed as the local part (RFC 5321 §4.1.2), so that no two addresses
 * look alike and none breaks an e-mail's header.
 */
export function normalizeEmail(text: string): string | undefined {
  const given = text.trim();
  const address = given.toLowerCase();
  const at = address.lastIndexOf('@');
  const local = address.slice(0, Math.max(0, at));
  // The lower case of the Kelvin sign is k: such an address would be that of another mailbox.
  if (/[^\p{ASCII}]/u.test(given.slice(0, Math.max(0, given.lastIndexOf('@'))))) return undefined;
  const domain = domainToASCII(address.slice(at + 1));
  const whole = `${local}@${domain}`;
  if (whole.length > LONGEST || local.length > 64 || !LOCAL_PART.test(local) || !DOMAIN.test(domain)) return undefined;
  return whole;
}

const CONNECTIONS = 2;
/** Limit of e-mails being sent or queued; more are refused. */
const MOST_LETTERS = 1_000;
const TIMEOUT_MS = 20_000;

/**
 * Opens the mail server at `smtp://…`, or `smtps://…` with TLS from the first byte. Without one, e-mails are logged.
 */
export async function openMailer({
  config: { smtpUrl, mailFrom },
  log,
  onClose,
}: {
  config: { smtpUrl: string | null; mailFrom: string };
  log: Log;
  onClose: OnClose;
}): Promise<Mailer> {
  if (smtpUrl === null) return logMailer(log);
  const mailer = await createSmtpMailer(smtpUrl, mailFrom);
  onClose(() => mailer.close());
  return mailer;
}

/** Logs e-mails, so that an operator can read the links. */
function logMailer(log: Log): Mailer {
  return {
    async send({ to, subject, text }) {
      log.warn({ to, subject, letter: text }, 'this e-mail is not sent: no mail server is set (SMTP_URL)');
    },
  };
}

/** Sends e-mails through a mail server. `close` closes its connections. */
async function createSmtpMailer(url: string, from: string): Promise<Mailer & { close(): void }> {
  // Most installations start without it.
  const { createTransport } = await import('nodemailer');
  const { protocol, hostname, port, username, password } = new URL(url);
  const secure = protocol === 'smtps:';
  const transport = createTransport({
    pool: true,
    maxConnections: CONNECTIONS,
    host: hostname,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    // Never send a password in the clear.
    requireTLS: username !== '',
    ...(username !== '' && { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  let sending = 0;
  return {
    async send(mail) {
      if (sending >= MOST_LETTERS) throw new Error('too many e-mails are queued for the mail server');
      sending++;
      try {
        await transport.sendMail({ from, ...mail });
      } finally {
        sending--;
      }
    },
    close: () => transport.close(),
  };
}
