import { createTransport } from 'nodemailer';
import type { Mailer } from '../ports.ts';

const CONNECT_MS = 10_000;
const SEND_MS = 30_000;

/** Sends through a mail server (`smtp://` with STARTTLS where it is offered, `smtps://`). One connection, kept while used. */
export function createSmtpMailer(url: string, from: string): Mailer {
  const transport = createTransport({
    url,
    pool: true,
    maxConnections: 1,
    connectionTimeout: CONNECT_MS,
    socketTimeout: SEND_MS,
  });
  return {
    async send({ to, subject, text }) {
      await transport.sendMail({ from, to, subject, text });
    },
  };
}
