import type { Log } from '../../kernel/log.ts';
import type { Mailer } from './mail.ts';

/** Where no mail server is configured: letters go to the log, for the operator to read the links from. */
export function createLogMailer(log: Log): Mailer {
  return {
    async send({ to, subject, text }) {
      log.warn({ to, subject }, 'SMTP_URL is not set; this letter is not sent:\n%s', text);
    },
  };
}
