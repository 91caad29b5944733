import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { PORT_TAKEN, programVersion } from '../../../proxy/environment.ts';
import type { Hello } from '../../../proxy/link/messages.ts';
import type { Address } from '../../../proxy/ports.ts';
import type { Log } from '../../kernel/log.ts';
import { type ProcessIdentity, isAlive, processOf, thisProcess } from '../../kernel/process-identity.ts';
import {
  childFolder,
  livingChild,
  noteChild,
  type ProxySettings,
  settingsFingerprintOf,
  startChild,
} from './child-process.ts';
import type { LinkedProxies } from './linked-proxies.ts';
import type { LinkedProxy } from './proxies.ts';

/** How long a running process may take to connect to the service. */
const FIND_MS = 10_000;
const LOOK_MS = 100;
/** Delays between starts of a proxy that ends at once. */
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
const STEADY_MS = 10_000;

/**
 * Keeps one proxy of this release listening. Finds the proxy that an earlier service started, or starts one. Drains
 * proxies of other releases or settings as soon as players can connect to the new one. Never starts or ends proxies
 * that another program manages.
 */
export class ChildKeeper {
  readonly #settings: ProxySettings;
  readonly #proxies: LinkedProxies;
  readonly #log: Log;
  readonly #version = programVersion();
  readonly #listening = Promise.withResolvers<Address>();
  readonly #watched = new Set<string>();
  readonly #drained = new Set<string>();
  /** Process ids of proxies of incompatible releases. */
  readonly #strangers = new Set<number>();
  #expected: ProcessIdentity | undefined;
  /** Serializes writes, so that the last one stays. */
  #noted = { pid: 0, done: Promise.resolve() };
  /** Pid of the proxy being started; 0 before it has one. Set until it connects. */
  #starting: number | undefined;
  #isOver = false;
  #pauseMs = 0;

  constructor(settings: ProxySettings, proxies: LinkedProxies, log: Log) {
    this.#settings = settings;
    this.#proxies = proxies;
    this.#log = log;
    this.#listening.promise.catch(() => {});
  }

  /** The socket that children link to. */
  get linkPath(): string {
    return join(childFolder(this.#settings.dataDir), 'link.sock');
  }

  /**
   * Call it once links are accepted. Resolves when an earlier proxy has reported its players, is gone or incompatible,
   * or takes too long.
   */
  async start(): Promise<void> {
    this.#expected = await livingChild(this.#settings.dataDir);
    this.check();
    const end = performance.now() + FIND_MS;
    while (this.#expected && !this.#isOver && !this.#hasTold(this.#expected.pid)) {
      const alive = await isAlive(this.#expected, await thisProcess());
      if (alive === false || performance.now() > end || this.#strangers.has(this.#expected.pid)) break;
      await delay(LOOK_MS, undefined, { ref: false });
    }
    this.#expected = undefined;
    this.check();
  }

  /** Resolves with the address players connect to. Rejects if the first proxy could not be started. */
  listening(): Promise<Address> {
    return this.#listening.promise;
  }

  /** Records an incompatible proxy. It only understands a signal, which makes it end with its last player. */
  refused(hello: Hello): void {
    this.#strangers.add(hello.pid);
    this.check();
  }

  /** Call it whenever anything about a proxy has changed. */
  check(): void {
    if (this.#isOver) return;
    const own = this.#proxies.own();
    for (const proxy of own) if (!proxy.link) void this.#watch(proxy);
    if (own.some(({ hello, link }) => hello.pid === this.#starting && link)) this.#starting = undefined;
    const fitting = own.filter((proxy) => this.#fits(proxy));
    const chosen = fitting.find(({ listening }) => listening !== null) ?? fitting[0];
    for (const proxy of fitting) if (proxy !== chosen) this.#drain(proxy);
    if (!chosen) {
      if (!this.#expected) void this.#start();
      return;
    }
    const noted = this.#note(chosen.hello.pid);
    const { listening } = chosen;
    if (listening === null) return;
    // Wait for the record: if this service is killed now, the next one must find the proxy.
    void noted.then(() => this.#listening.resolve(listening));
    for (const proxy of own) if (!fitting.includes(proxy)) this.#drain(proxy);
    for (const pid of this.#strangers) end(pid);
    this.#strangers.clear();
  }

  /** The proxies keep running. */
  close(): void {
    this.#isOver = true;
    this.#listening.reject(new Error('the service has ended'));
  }

  #fits({ hello, draining }: LinkedProxy): boolean {
    return hello.version === this.#version && hello.settings === settingsFingerprintOf(this.#settings) && !draining;
  }

  #hasTold(pid: number): boolean {
    return this.#proxies.own().some(({ hello, link }) => hello.pid === pid && link && !link.arriving);
  }

  #drain({ hello, draining }: LinkedProxy): void {
    if (draining || this.#drained.has(hello.id)) return;
    this.#drained.add(hello.id);
    this.#log.info({ proxy: hello.name, pid: hello.pid, version: hello.version }, 'draining a proxy');
    this.#proxies.drain(hello.id);
  }

  #note(pid: number): Promise<void> {
    if (this.#noted.pid !== pid) this.#noted = { pid, done: this.#noted.done.then(() => this.#write(pid)) };
    return this.#noted.done;
  }

  async #write(pid: number): Promise<void> {
    try {
      await noteChild(this.#settings.dataDir, await processOf(pid));
    } catch (err) {
      this.#log.warn({ err }, 'could not save the id of the proxy process for the next start');
    }
  }

  async #start(): Promise<void> {
    if (this.#starting !== undefined) return;
    this.#starting = 0;
    const startedAt = performance.now();
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(Math.max(FIRST_PAUSE_MS, pauseMs * 2), LONGEST_PAUSE_MS);
    try {
      await delay(pauseMs, undefined, { ref: false });
      if (this.#isOver) return;
      const before = this.#proxies.own().find(({ listening }) => listening !== null)?.listening;
      const takesOver = before ?? (this.#strangers.size > 0 || undefined);
      const { pid, ended } = await startChild(this.#settings, { link: this.linkPath, takesOver });
      this.#log.info({ pid, version: this.#version }, 'started a proxy');
      this.#starting = pid;
      void ended.then((code) => {
        if (performance.now() - startedAt > STEADY_MS) this.#pauseMs = 0;
        this.#mourn(pid, code);
      });
    } catch (err) {
      this.#log.error({ err }, 'could not start the proxy');
      this.#listening.reject(err);
      this.#starting = undefined;
      this.check();
    }
  }

  #mourn(pid: number, code: number | null): void {
    if (this.#starting === pid) this.#starting = undefined;
    const known = this.#proxies.own().find(({ hello }) => hello.pid === pid);
    if (known) this.#proxies.lost(known.hello.id);
    if (this.#isOver) return;
    if (code !== 0) {
      this.#log.warn({ pid, code }, 'the proxy exited; its players are disconnected');
      const message = 'The proxy could not start. See proxy/proxy.log in DATA_DIR.';
      const taken = { code: 'EADDRINUSE', port: this.#settings.proxyPort };
      this.#listening.reject(Object.assign(new Error(message), code === PORT_TAKEN ? taken : {}));
    }
    this.check();
  }

  /** Polls a process that an earlier service started, because its end is not reported. */
  async #watch({ hello }: LinkedProxy): Promise<void> {
    if (this.#watched.has(hello.id)) return;
    this.#watched.add(hello.id);
    const process = await processOf(hello.pid);
    const here = await thisProcess();
    const isAway = () => this.#proxies.own().some((proxy) => proxy.hello.id === hello.id && !proxy.link);
    while (!this.#isOver && isAway()) {
      if (process.startedAt === '' || (await isAlive(process, here)) === false) this.#proxies.lost(hello.id);
      else await delay(LOOK_MS, undefined, { ref: false });
    }
    this.#watched.delete(hello.id);
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch {
    // It has already ended.
  }
}
