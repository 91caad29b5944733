import { pay } from '../support/payment-page.ts';
import type { Service } from '../support/service.ts';
import type { Cell } from './cell.ts';
import type { Client, Outcome } from './client.ts';

interface Entry {
  kind: string;
  note: string;
  amountMicros: string | number;
}

/** The latest of an account's entries of a kind, oldest first. */
async function entriesOf(client: Client, accountId: string, kind: string): Promise<Entry[]> {
  const path = `/v1/accounts/${accountId}/ledger?limit=1000`;
  const { entries } = await client.get<{ entries: Entry[] }>(path);
  return entries.filter((entry) => entry.kind === kind).toReversed();
}

/** An operator's gifts, each told again with its own `ref` until it is acknowledged: how many there are. */
export function gifts(client: Client, accountId: string): Cell<number> {
  return {
    name: 'gifts',
    initial: 0,
    act: (given) => ({
      what: `gift ${given}`,
      call: () =>
        client.call('POST', `/v1/operator/accounts/${accountId}:credit`, {
          amountMicros: 1_000 + given,
          kind: 'credit',
          note: `gift ${given}`,
          ref: `gift-${given}`,
        }),
      next: () => given + 1,
    }),
    async read() {
      const notes = (await entriesOf(client, accountId, 'credit')).map(({ note }) => note);
      const given = notes.filter((note) => note.startsWith('gift '));
      return given.every((note, nth) => note === `gift ${nth}`) ? given.length : -1;
    },
  };
}

/** Payments on the built-in page, whose button is pressed twice: how many came through. */
export function payments(client: Client, service: Service, accountId: string): Cell<number> {
  return {
    name: 'payments',
    initial: 0,
    act: (paid) => ({
      what: `payment ${paid}`,
      async call(): Promise<Outcome> {
        try {
          const asked = await client.call('POST', `/v1/accounts/${accountId}/checkout-link`, { amountUsd: 1 });
          if (asked.is !== 'done')
            return asked.is === 'unknown' ? { is: 'refused', status: 0, reason: 'no link' } : asked;
          const url = String(asked.json['checkoutUrl']).replace(/^https?:\/\/[^/]+/, service.baseUrl);
          return (await pay(url, 2)) ? { is: 'done', json: {} } : { is: 'unknown', status: 0 };
        } catch {
          return { is: 'unknown', status: 0 };
        }
      },
      next: () => paid + 1,
    }),
    read: async () => (await entriesOf(client, accountId, 'topup')).length,
  };
}
