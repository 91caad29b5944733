import { createTransport } from 'nodemailer';
import type { Mailer } from './mail.ts';

export interface SmtpOptions {
  /** `smtp://` or, with TLS from the first byte, `smtps://`; may contain user and password. */
  url: string;
  /** The sender's address. */
  from: string;
}

const CONNECTIONS = 2;
/** Limit of e-mails being sent or queued; more are refused. */
const MOST_LETTERS = 1_000;
const TIMEOUT_MS = 20_000;

/** Sends e-mails through a mail server. `close` closes its connections. */
export function createSmtpMailer({ url, from }: SmtpOptions): Mailer & { close(): void } {
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
