import type { Log } from '../log.ts';
import type { Mailer } from '../ports.ts';

/** Where no mail server is configured: letters go to the log, for the operator to read the links from. */
export function createLogMailer(log: Log): Mailer {
  return {
    async send({ to, subject, text }) {
      log.warn({ to, subject }, 'SMTP_URL is not set; this letter is not sent:\n%s', text);
    },
  };
}
