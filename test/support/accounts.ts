import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

/** Returns the account UUID (version 4) that a name has in tests. */
export function accountUuid(name: string): string {
  const hash = createHash('sha256').update(name.toLowerCase()).digest('hex');
  return hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-4$3-8$4-$5');
}

/** A stand-in for Mojang's API. It knows the given accounts, and a test can replace its answers. */
export interface Accounts {
  url: string;
  /** Paths of the requests, in order. */
  asked: string[];
  /** Answers all further requests with this function. Undefined restores the real answers. */
  answer(with_: ((response: ServerResponse) => void) | undefined): void;
}

export async function accounts(t: ExecutionContext, names: readonly string[]): Promise<Accounts> {
  const asked: string[] = [];
  let oddly: ((response: ServerResponse) => void) | undefined;
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    if (oddly) return oddly(response);
    const wanted = /^\/users\/profiles\/minecraft\/(\w+)$/.exec(url)?.[1]?.toLowerCase();
    const name = names.find((known) => known.toLowerCase() === wanted);
    response.writeHead(name === undefined ? 404 : 200, { 'content-type': 'application/json' });
    if (name === undefined) response.end(JSON.stringify({ errorMessage: "Couldn't find any profile with that name" }));
    else response.end(JSON.stringify({ id: accountUuid(name).replaceAll('-', ''), name }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answer: (with_) => void (oddly = with_),
  };
}
