import type { ExecutionContext } from 'ava';
import type { Machine } from '../../src/billing/capacity.ts';
import { createAdmission } from '../../src/billing/admission.ts';
import type { Checkouts } from '../../src/billing/checkout.ts';
import { type Checkout, createTestCheckout } from '../../src/billing/payments.ts';
import { type ApiUnderTest, api } from './api-harness.ts';
import type { Rooms } from './rooms.ts';

export const MACHINE: Machine = { cores: 4, ramMb: 16_384, diskFreeMb: 40_000, diskTotalMb: 50_000 };

/** The operations about machine, limits and checkout, and the checkout page, over HTTP. */
export interface MoneyUnderTest {
  api: ApiUnderTest;
  /** The origin of operations and pages. */
  origin: string;
  machine: Machine;
  money: Pick<Rooms, 'capacity' | 'accountLimits' | 'checkouts'>;
  checkouts: Checkouts;
  call(method: string, path: string, options?: MoneyCall): Promise<MoneyAnswer>;
}

export interface MoneyCall {
  key?: string | null;
  body?: unknown;
  raw?: string;
  headers?: Record<string, string>;
}

export interface MoneyAnswer {
  status: number;
  json: Record<string, unknown>;
  reason: string;
}

export async function moneySite(
  t: ExecutionContext,
  checkout: Checkout | 'off' = createTestCheckout(),
): Promise<MoneyUnderTest> {
  const machine = { ...MACHINE };
  const harness = await api(t, { site: '127.0.0.1', machine, checkout: checkout === 'off' ? null : checkout });
  const { servers, origin, services: money } = harness;
  const { capacity, accountLimits: limits, checkouts } = money;
  const admit = createAdmission(() => servers.live(), capacity, limits, { nodeLabel: 'node-1' });
  servers.checkWakes(async () => admit);

  return {
    api: harness,
    origin,
    machine,
    money,
    checkouts,
    async call(method, path, { key = harness.key, body, raw, headers } = {}) {
      const sent = raw ?? (body === undefined ? undefined : JSON.stringify(body));
      const response = await fetch(origin + path, {
        method,
        headers: { ...(key !== null && { 'x-api-key': key }), ...headers },
        ...(sent !== undefined && { body: sent }),
      });
      const json = (await response.json()) as Record<string, unknown>;
      const [info] = (json['details'] ?? []) as { reason?: string }[];
      return { status: response.status, json, reason: info?.reason ?? '' };
    },
  };
}
