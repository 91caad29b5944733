/** A letter in plain text. */
export interface Mail {
  to: string;
  /** One line. */
  subject: string;
  text: string;
}

/** Sends letters. */
export interface Mailer {
  /** Resolves once the e-mail was accepted for delivery; rejects if it was not. */
  send(mail: Mail): Promise<void>;
}
