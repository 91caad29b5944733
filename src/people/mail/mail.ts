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
