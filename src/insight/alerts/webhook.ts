/** A call to a webhook that a user has set. */
export interface WebhookCall {
  /** An https URL, at the default port. */
  url: string;
  /** The message's id, the same for every attempt, so that receivers recognise repetitions. */
  id: string;
  /** Sent as JSON. */
  body: object;
}

export interface WebhookAnswer {
  status: number;
  /** The seconds that the receiver asks to wait; null if it does not. */
  retryAfterSeconds: number | null;
}

/** Calls users' webhooks: at public addresses only, within seconds, without following redirects. */
export interface Webhook {
  /** Resolves with the answer's status, whatever it is. Ignores the body. Rejects with WebhookError. */
  post(call: WebhookCall): Promise<WebhookAnswer>;
}

export class WebhookError extends Error {
  /** `refused`: the URL is invalid, or leads to an address that must not be called. */
  readonly reason: 'refused' | 'timeout' | 'unreachable';
  constructor(reason: WebhookError['reason'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'WebhookError';
    this.reason = reason;
  }
}
