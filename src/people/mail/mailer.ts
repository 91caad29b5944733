import type { Startup } from '../../compose/startup.ts';
import { createLogMailer } from './log-mailer.ts';
import type { Mailer } from './mail.ts';

/** Letters go to the mail server that is set; without one they are logged. */
export async function openMailer({ config, log, onClose }: Startup): Promise<Mailer> {
  if (config.smtpUrl === null) return createLogMailer(log);
  const { createSmtpMailer } = await import('./smtp-mailer.ts');
  const mailer = createSmtpMailer({ url: config.smtpUrl, from: config.mailFrom });
  onClose(() => mailer.close());
  return mailer;
}
