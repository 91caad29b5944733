/** A call to a webhook that a user has named. */
export interface WebhookCall {
  /** Of https, at the port of https. */
  url: string;
  /** The same for every try of one message, so that receivers can tell a repetition. */
  id: string;
  /** Sent as JSON. */
  body: object;
}

export interface WebhookAnswer {
  status: number;
  /** How long the receiver asks to be left alone; null where it does not say. */
  retryAfterSeconds: number | null;
}

/** Calls webhooks of users: at public addresses only, within seconds, following nobody anywhere. */
export interface Webhook {
  /** Resolves with the status of the answer, whatever it is; of the rest nothing is kept. Rejects with WebhookError. */
  post(call: WebhookCall): Promise<WebhookAnswer>;
}

export class WebhookError extends Error {
  /** `refused`: it leads to where we do not call. */
  readonly reason: 'refused' | 'timeout' | 'unreachable';
  constructor(reason: WebhookError['reason'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'WebhookError';
    this.reason = reason;
  }
}
