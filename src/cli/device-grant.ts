import { setTimeout as delay } from 'node:timers/promises';
import { openOperations, refusal } from './api.ts';
import { DORMOUSE } from './called.ts';
import { type CommandError, failed, isTransient, unreachable } from './errors.ts';
import { retryAfter } from './http.ts';
import { DEVICE, DEVICE_POLL, type Device, read } from './shapes.ts';

/** RFC 8628 §3.5: seconds that `slow_down` adds to the interval of all later polls. */
const SLOW_DOWN_S = 5;
const LEAST_INTERVAL_S = 1;
const MOST_INTERVAL_S = 60;
const MOST_LIFETIME_S = 3600;

/** Requests a grant for the command line. Without a client_id, it yields a key with all scopes. */
export async function startDeviceGrant(url: string, signal: AbortSignal): Promise<Device> {
  const { data, error, response } = await openOperations(url, signal).POST('/v1/public/device/start', { body: {} });
  const device = read(DEVICE, data ?? {});
  if (device.device_code !== '' && device.user_code !== '') return device;
  if (response.status === 404) {
    throw failed(
      'NO_DEVICE_GRANT',
      `${url} does not offer sign-in by browser. Use an API key: ${DORMOUSE} login --key`,
    );
  }
  if (response.status === 429) {
    const seconds = retryAfter(response);
    const when = seconds === undefined ? 'later' : `in ${Math.ceil(seconds / 60)} min`;
    throw failed('RATE_LIMITED', `Too many sign-ins from this address. Try again ${when}.`);
  }
  throw grantError(error, response, url);
}

/**
 * Polls until the user has decided (RFC 8628 §3.4), and resolves with the key. Retries a failing or unreachable service
 * until the grant expires. Throws a CommandError if the user declined or the time ran out.
 */
export async function pollDeviceGrant(url: string, device: Device, signal: AbortSignal): Promise<string> {
  const endsAt = Date.now() + Math.min(device.expires_in, MOST_LIFETIME_S) * 1000;
  let intervalS = Math.min(MOST_INTERVAL_S, Math.max(LEAST_INTERVAL_S, device.interval));
  let waitS = intervalS;
  while (Date.now() + waitS * 1000 < endsAt) {
    await delay(waitS * 1000, undefined, { signal });
    waitS = intervalS;
    const answer = await poll(url, device.device_code, signal);
    if (answer === undefined) {
      // §3.5: polls less and less often while there is no answer.
      waitS = intervalS = Math.min(MOST_INTERVAL_S, intervalS * 2);
      continue;
    }
    const { body, response } = answer;
    const { api_key: key, error } = read(DEVICE_POLL, body);
    if (response.ok && key !== '') return key;
    if (response.status >= 500 || error === 'authorization_pending') continue;
    if (error === 'slow_down') waitS = intervalS += SLOW_DOWN_S;
    else if (response.status === 429) waitS = Math.max(intervalS, retryAfter(response) ?? 0);
    else if (error === 'access_denied') throw failed('ACCESS_DENIED', 'The sign-in was declined in the browser.');
    else if (error === 'expired_token') break;
    else throw grantError(body, response, url);
  }
  throw failed('EXPIRED', `The code was not confirmed in time. Get a new one with: ${DORMOUSE} login`);
}

/** Returns undefined if there is no answer. */
async function poll(url: string, code: string, signal: AbortSignal) {
  try {
    const body = { device_code: code };
    const { data, error, response } = await openOperations(url, signal).POST('/v1/public/device/poll', { body });
    return { body: (data ?? error) as object, response };
  } catch (error) {
    if (isTransient(error)) return undefined;
    throw error;
  }
}

function grantError(body: unknown, response: Response, url: string): CommandError {
  if (response.ok) return unreachable(`The server at ${url} is not a Dormouse service. Check --url.`);
  const { error } = read(DEVICE_POLL, body as object);
  return error === ''
    ? refusal(body, response)
    : failed('SIGN_IN_REFUSED', `The service refused the sign-in: ${error}.`);
}
