import { writeSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';

/**
 * The thread of `watchdog.ts`, because the watched thread cannot detect that it is stuck. Written in JavaScript,
 * because stripping types would double the thread's memory.
 */

/** @type {import('./watchdog.ts').WatchdogData} */
const { beats, stuckMs, answerMs, asks, logFd } = workerData;
/** Counts checks instead of time: a machine that was asleep counts as one check. */
const LOOKS = 4;
const lookMs = stuckMs / LOOKS;
const MOST_FRAMES = 12;
const ROOT = new URL('../../', import.meta.url).href;

let last = -1;
let looks = 0;
/** @type {{ activity: string, at: string[], since: number } | undefined} */
let stuck;

setInterval(() => {
  const now = Atomics.load(beats, 0);
  if (now !== last) {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    if (stuck) parentPort?.postMessage({ ...stuck, stuckMs: Math.round(performance.now() - stuck.since) });
    [last, looks, stuck] = [now, 0, undefined];
    return;
  }
  looks += 1;
  if (looks === LOOKS) void find(performance.now() - stuckMs);
}, lookMs);

/** @param {number} since */
async function find(since) {
  const report = { since, activity: '', at: [] };
  stuck = report;
  await ask(report);
  const what = [report.activity, ...report.at.slice(0, 3)].filter(Boolean).join(' < ');
  writeSync(logFd, `The event loop has been stuck for ${stuckMs} ms: ${what || 'in code that cannot be inspected'}\n`);
}

/**
 * Pauses the main thread briefly and reads its stack and activity.
 * @param {{ activity: string, at: string[] }} report
 */
async function ask(report) {
  const { Session } = await import('node:inspector');
  const session = new Session();
  const urls = new Map();
  const { promise: answered, resolve } = Promise.withResolvers();
  const timeout = setTimeout(() => resolve(), answerMs);
  try {
    session.connectToMainThread();
    session.on('Debugger.scriptParsed', ({ params }) => {
      urls.set(params.scriptId, params.url);
    });
    session.once('Debugger.paused', ({ params }) => {
      report.at.push(...params.callFrames.slice(0, MOST_FRAMES).map((frame) => frameText(frame, urls)));
      session.post('Runtime.evaluate', { expression: asks, silent: true }, (_, reply) => {
        const value = reply?.result.value;
        report.activity = typeof value === 'string' ? value : '';
        session.post('Debugger.resume', () => resolve());
      });
    });
    session.post('Debugger.enable');
    session.post('Debugger.pause');
    await answered;
  } catch {
    // Node may lack an inspector. The log then reports only that the thread is stuck.
  } finally {
    clearTimeout(timeout);
    session.disconnect();
  }
}

/**
 * @param {import('node:inspector').Debugger.CallFrame} frame
 * @param {ReadonlyMap<string, string>} urls
 */
function frameText({ functionName, location }, urls) {
  const file = urls.get(location.scriptId)?.replace(ROOT, '') ?? '';
  return `${functionName || '(anonymous)'} (${file}:${location.lineNumber + 1})`;
}
