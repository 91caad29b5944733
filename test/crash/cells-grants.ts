import { setTimeout as delay } from 'node:timers/promises';
import type { Cell, Step } from './cell.ts';
import type { Client, Outcome } from './client.ts';

type Stage = 'none' | 'pending' | 'approved' | 'held';

/** A client that has polled too soon is told so, and has to leave so much more time. */
const SLOW_MS = 11_000;

/** A device asks for full access, its person approves, it polls, and uses what it was given. */
export function grant(client: Client): Cell<string> {
  const device = { code: '', userCode: '', key: '', fetchedEarly: false };
  const session = { session: true };

  async function start(): Promise<Outcome> {
    const started = await client.call('POST', '/v1/public/device/start', {});
    // Nobody can ask for one that was not answered.
    if (started.is === 'unknown') return { is: 'refused', status: 0, reason: 'unheard' };
    if (started.is !== 'done') return started;
    const { device_code: code, user_code: userCode } = started.json;
    Object.assign(device, { code: String(code), userCode: String(userCode), key: '', fetchedEarly: false });
    return started;
  }

  async function approve(): Promise<Outcome> {
    const body = { userCode: device.userCode };
    const approved = await client.call('POST', '/v1/session/device:approve', body, session);
    if (approved.is === 'refused' && approved.reason === 'PASSWORD_REQUIRED') await client.signIn();
    return approved;
  }

  async function poll(): Promise<Outcome> {
    const polled = await client.call('POST', '/v1/public/device/poll', { device_code: device.code });
    if (polled.is === 'done') device.key = String(polled.json['api_key'] ?? polled.json['access_token']);
    return polled;
  }

  const use = (): Promise<Outcome> => client.call('GET', '/v1/whoami', undefined, { key: device.key });
  const useUp = async (): Promise<Outcome> => {
    const used = await use();
    if (used.is === 'done') device.code = '';
    return used;
  };
  const steps: Record<Stage, () => Step<Stage>> = {
    none: () => ({ what: 'start', call: start, next: () => 'pending' }),
    pending: () => ({ what: 'approve', call: approve, next: () => 'approved' }),
    approved: () =>
      device.fetchedEarly
        ? { what: 'use', call: useUp, next: () => 'none' }
        : { what: 'poll', call: poll, next: () => 'held' },
    held: () => ({ what: 'use', call: useUp, next: () => 'none' }),
  };

  return {
    name: 'device grant',
    initial: 'none',
    act: (stage) => steps[stage as Stage](),
    async read() {
      if (device.code === '') return 'none';
      if (device.key !== '') {
        if ((await use()).is !== 'done') return 'a key that opens nothing';
        return device.fetchedEarly ? 'approved' : 'held';
      }
      const found = await client.call('POST', '/v1/session/device:lookUp', { userCode: device.userCode }, session);
      if (found.is === 'done') return 'pending';
      let polled = await poll();
      if (polled.is === 'refused' && polled.reason === 'slow_down') {
        await delay(SLOW_MS);
        polled = await poll();
      }
      if (polled.is === 'done') {
        device.fetchedEarly = true;
        return 'approved';
      }
      device.code = '';
      return `neither waiting nor approved: ${JSON.stringify([found, polled])}`;
    },
  };
}
