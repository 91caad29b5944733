import { wrongUsage } from './errors.ts';
import type { Request } from './http.ts';
import type { components, paths } from './api-types.ts';

/** The API's messages by their names. */
export type Messages = components['schemas'];

export type Method = 'get' | 'post' | 'delete';

/** The paths that take a method. */
export type PathOf<M extends Method> = { [P in keyof paths]: paths[P][M] extends object ? P : never }[keyof paths];

/** What the API says of one operation. */
type Operation<M extends Method, P extends PathOf<M>> = paths[P] extends Record<M, infer Found> ? Found : never;

type Content<Body> = Body extends { content: Record<string, infer Message> } ? Message : never;

/** What an operation must be sent: the parameters of its path, and its query and body where it has any. */
export type Sent<M extends Method, P extends PathOf<M>> =
  Operation<M, P> extends { parameters: infer Parameters; requestBody?: infer Body }
    ? Pick<Parameters, Extract<keyof Parameters, 'path' | 'query'>> &
        ([NonNullable<Body>] extends [never] ? { body?: never } : { body: Content<Body> })
    : never;

/** What an operation answers with when it is done. */
export type Reply<M extends Method, P extends PathOf<M>> =
  Operation<M, P> extends { responses: { 200: infer Done } } ? Content<Done> : never;

/** The paths that answer with a stream of events. */
export type StreamPath = { [P in PathOf<'get'>]: Reply<'get', P> extends string ? P : never }[PathOf<'get'>];

/** A call as it goes over the wire. Throws wrong usage for what cannot be a server's id. */
export function request<M extends Method, P extends PathOf<M>>(method: M, path: P, sent: Sent<M, P>): Request {
  const { path: params = {}, query = {}, body } = sent as Parts;
  const search = new URLSearchParams(query as Record<string, string>).toString();
  const address = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => segment(name, params[name] ?? ''));
  return {
    method: method.toUpperCase() as Request['method'],
    path: search === '' ? address : `${address}?${search}`,
    ...(body === undefined ? {} : { body }),
  };
}

interface Parts {
  path?: Record<string, string>;
  /** Values that are no strings yet are as good: the address makes them so. */
  query?: object;
  body?: object;
}

function segment(name: string, value: string): string {
  if (name === 'id' && !/^[a-z0-9-]{1,64}$/.test(value)) {
    throw wrongUsage(`${JSON.stringify(value)} cannot be a server's id. See them with: npx dormouse servers`);
  }
  return encodeURIComponent(value);
}
