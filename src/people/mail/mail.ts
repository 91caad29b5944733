/** A letter in plain text. */
export interface Mail {
  to: string;
  /** One line. */
  subject: string;
  text: string;
}

/** Sends letters. */
export interface Mailer {
  /** Resolves once somebody has taken the letter over; rejects where nobody would. */
  send(mail: Mail): Promise<void>;
}
