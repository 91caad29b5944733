import { createLogMailer } from '../adapters/log-mailer.ts';
import { createSmtpMailer } from '../adapters/smtp-mailer.ts';
import type { Mailer } from '../ports.ts';
import type { Startup } from './startup.ts';

/** Letters go to the mail server that is set; without one they are logged. */
export function openMailer({ config, log, onClose }: Startup): Mailer {
  if (config.smtpUrl === null) return createLogMailer(log);
  const mailer = createSmtpMailer({ url: config.smtpUrl, from: config.mailFrom });
  onClose(() => mailer.close());
  return mailer;
}
