import { type ClientRequest, request } from 'node:http';
import { HELPER, type Isolation, WAITS, helperMaker, rulesFor } from './agent-rules.ts';

// The part of the agent (agent.ts) that isolates games from each other on the network that they share with the service
// and the proxies. Docker itself cannot do that on an overlay. The agent puts packet rules into each game's network
// namespace. On the shared network a game can then send only answers from its own ports to clients that connected to
// them, and calls to the database server if there is one. The rules check single packets, so they also end connections
// opened before.
//
// A container sets the rules. It runs for some tenths of a second within the game's network and has no other right. It
// runs the node's own iptables, which Docker needs as well.

export interface IsolationOptions extends Isolation {
  installation: string;
  /** The Docker socket of this node. */
  socketPath: string;
}

export interface Isolator {
  /**
   * Sets and verifies the rules of a container's network, then starts the game if it waits for them. Resolves early if
   * the container has ended.
   */
  isolate(id: string): Promise<void>;
  /** Isolates all running games, and from now on each game as it starts. */
  begin(): void;
}

const INSTALLATION = 'dormouse.installation';
const CALL_MS = 20_000;
const AGAIN_MS = 500;
/** A game that has run for longer has already received its line, even if a newer agent does not know it. */
const WAITS_MS = 300_000;

interface Container {
  State: { Running: boolean; StartedAt: string };
  Config: { Labels?: Record<string, string> };
  NetworkSettings: { Networks?: Record<string, { NetworkID: string; IPAddress: string; IPPrefixLen: number }> };
}

export function isolator(options: IsolationOptions): Isolator {
  const { installation, socketPath, network, image } = options;
  const ours = `${INSTALLATION}=${installation}`;
  /** Containers whose rules are in place or in progress. */
  const done = new Map<string, Promise<void>>();
  const create = helperMaker(
    async (helper) => (JSON.parse(await call('POST', '/containers/create', helper)) as { Id: string }).Id,
  );

  async function call(method: string, path: string, body?: unknown): Promise<string> {
    const { status, text } = await answerOf(asked(method, path, body));
    if (status < 400) return text;
    throw new Error(messageIn(text) ?? `${method} ${path} returned status ${status}`);
  }

  function asked(method: string, path: string, body?: unknown, signal = AbortSignal.timeout(CALL_MS)): ClientRequest {
    const data = body === undefined ? '' : JSON.stringify(body);
    const headers = { host: 'docker', 'content-type': 'application/json', 'content-length': Buffer.byteLength(data) };
    const asked = request({ socketPath, path, method, headers, signal });
    asked.end(data);
    return asked;
  }

  const inspect = async (id: string) => JSON.parse(await call('GET', `/containers/${id}/json`)) as Container;

  /** Isolates a game. Ignores errors if the game has ended, because it then needs no isolation. */
  async function isolateRunning(id: string): Promise<void> {
    try {
      await isolateNow(id);
    } catch (error) {
      if ((await inspect(id)).State.Running) throw error;
      done.delete(id);
    }
  }

  async function isolateNow(id: string): Promise<void> {
    const info = await inspect(id);
    const at = Object.values(info.NetworkSettings.Networks ?? {}).find(({ NetworkID }) => NetworkID === network);
    if (at !== undefined) await within(id, rulesFor(options, at.IPAddress, at.IPPrefixLen));
    const age = Date.now() - Date.parse(info.State.StartedAt);
    if (info.Config.Labels?.[WAITS] === 'true' && age < WAITS_MS) await begins(id);
  }

  /** Runs a script in the node's shell within a container's network, with the right to change rules. */
  async function within(id: string, script: string): Promise<void> {
    const helper = await create({ network: `container:${id}`, script, image, installation });
    try {
      await call('POST', `/containers/${helper}/start`);
      const { StatusCode: code } = JSON.parse(await call('POST', `/containers/${helper}/wait`)) as {
        StatusCode: number;
      };
      if (code === 0) return;
      const said = (await call('GET', `/containers/${helper}/logs?stdout=1&stderr=1`)).trim();
      throw new Error(said.replaceAll(/\s+/g, ' ') || `iptables ended with code ${code}`);
    } finally {
      // The removal is not awaited, because the next agent removes leftovers.
      call('DELETE', `/containers/${helper}?force=1&v=1`).catch(() => undefined);
    }
  }

  /** Writes the line that a game waits for to its standard input. */
  function begins(id: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const path = `/containers/${id}/attach?stream=1&stdin=1`;
      const headers = { host: 'docker', connection: 'Upgrade', upgrade: 'tcp', 'content-length': '0' };
      const signal = AbortSignal.timeout(CALL_MS);
      request({ socketPath, path, method: 'POST', headers, signal })
        .on('upgrade', (_, socket) => {
          socket.on('error', reject).on('close', () => resolve());
          socket.resume().end('\n');
        })
        .on('response', (answer) =>
          reject(new Error(`the standard input of the game is not open (${answer.resume().statusCode})`)),
        )
        .on('error', reject)
        .end();
    });
  }

  function isolate(id: string): Promise<void> {
    const now = done.get(id) ?? isolateRunning(id);
    done.set(id, now);
    now.catch(() => done.delete(id));
    return now;
  }

  function onLine(line: string): void {
    const { Action: action, Actor: actor } = JSON.parse(line) as { Action?: string; Actor?: { ID?: string } };
    if (actor?.ID === undefined) return;
    if (action === 'die') done.delete(actor.ID);
    else isolate(actor.ID).catch(failed(`could not isolate ${actor.ID}`));
  }

  /** Isolates games that started without a listener, and forgets ended ones. */
  async function catchUp(): Promise<void> {
    const running = JSON.parse(await call('GET', `/containers/json?${filters({ label: [ours] })}`)) as { Id: string }[];
    const ids = running.map(({ Id: id }) => id);
    for (const id of done.keys()) if (!ids.includes(id)) done.delete(id);
    for (const id of ids) await isolate(id).catch(failed(`could not isolate ${id}`));
  }

  function begin(): void {
    const query = filters({ type: ['container'], event: ['start', 'die'], label: [ours] });
    let isOver = false;
    const again = () => {
      if (!isOver) setTimeout(begin, AGAIN_MS);
      isOver = true;
    };
    asked('GET', `/events?${query}`, undefined, new AbortController().signal)
      .on('error', again)
      .on('response', (answer) => {
        catchUp().catch(failed('could not isolate the running games'));
        let rest = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          const lines = (rest + chunk).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) if (line.trim() !== '') onLine(line);
        });
        answer.on('error', () => undefined).on('close', again);
      });
  }

  async function removeLeftovers(): Promise<void> {
    const query = filters({ label: [`${HELPER}=${installation}`] });
    const left = JSON.parse(await call('GET', `/containers/json?all=1&${query}`)) as { Id: string }[];
    for (const { Id: id } of left) await call('DELETE', `/containers/${id}?force=1&v=1`).catch(() => undefined);
  }

  return {
    isolate,
    begin: () => void removeLeftovers().then(begin, () => setTimeout(begin, AGAIN_MS)),
  };
}

/** Returns a function that logs an error in the agent's log, for errors that no caller awaits. */
function failed(what: string): (error: unknown) => void {
  return (error) => console.error(what, error);
}

function filters(wanted: Record<string, string[]>): string {
  return `filters=${encodeURIComponent(JSON.stringify(wanted))}`;
}

function answerOf(asked: ClientRequest): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    asked.on('error', reject).on('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      answer.on('error', reject).on('end', () => resolve({ status: answer.statusCode ?? 500, text }));
    });
  });
}

function messageIn(text: string): string | undefined {
  try {
    return (JSON.parse(text) as { message?: string }).message;
  } catch {
    return undefined;
  }
}
