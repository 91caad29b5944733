import type { OnClose } from '../../kernel/closers.ts';
import type { Log } from '../../kernel/log.ts';
import type { Mailer } from './mail.ts';

export interface MailerOptions {
  config: {
    /** `smtp://…` or `smtps://…`. */
    smtpUrl: string | null;
    /** The sender of e-mails. */
    mailFrom: string;
  };
  log: Log;
  onClose: OnClose;
}

/** Opens the configured mail server. Without one, e-mails are logged. */
export async function openMailer({ config, log, onClose }: MailerOptions): Promise<Mailer> {
  if (config.smtpUrl === null) return logMailer(log);
  const { createSmtpMailer } = await import('./smtp-mailer.ts');
  const mailer = createSmtpMailer({ url: config.smtpUrl, from: config.mailFrom });
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
