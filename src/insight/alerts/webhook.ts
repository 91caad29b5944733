/** A call to a webhook that a user has named. */
export interface WebhookCall {
  /** An https URL, at the default port. */
  url: string;
  /** One id for every try of a message, so that receivers can tell a repetition. */
  id: string;
  /** Sent as JSON. */
  body: object;
}

export interface WebhookAnswer {
  status: number;
  /** How long the receiver asks to wait; null where it does not say. */
  retryAfterSeconds: number | null;
}

/** Calls users' webhooks: at public addresses only, within seconds, without following redirects. */
export interface Webhook {
  /** Resolves with the status of the answer, whatever it is; its body is dropped. Rejects with WebhookError. */
  post(call: WebhookCall): Promise<WebhookAnswer>;
}

export class WebhookError extends Error {
  /** `refused`: it leads to an address that must not be called. */
  readonly reason: 'refused' | 'timeout' | 'unreachable';
  constructor(reason: WebhookError['reason'], message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'WebhookError';
    this.reason = reason;
  }
}
