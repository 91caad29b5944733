import { createRequire } from 'node:module';
import type * as KoaRouter from '@koa/router';

// In the form that does not import `node:http` as an ES module: see kernel/node-http.ts.
const { Router } = createRequire(import.meta.url)('@koa/router') as typeof KoaRouter;

type Layer = KoaRouter.Layer;

/** What routes of an address have in common: how many segments, and the verb at its end ('' for none). */
interface Shape {
  segments: number;
  verb: string;
}

/**
 * Tries the routes alone that can be meant: the library's own tries all there are, one regular expression after the other, which
 * takes longer than most of what an operation does.
 */
class IndexedRouter extends Router {
  /** By `keyOf`, each in the order in which the routes were added. */
  readonly #routes = new Map<string, Layer[]>();
  /** Routes that may have any number of segments. */
  #others: readonly Layer[] = [];
  #indexed = 0;

  override match(path: string, method: string): KoaRouter.MatchResult {
    if (this.#indexed !== this.stack.length) this.#index();
    const found: KoaRouter.MatchResult = { path: [], pathAndMethod: [], route: false };
    const shape = shapeOf(path);
    const routes = this.#routes.get(keyOf(shape)) ?? this.#routes.get(keyOf({ ...shape, verb: '' })) ?? this.#others;
    for (const route of routes) {
      if (!route.match(path)) continue;
      found.path.push(route);
      if (route.methods.length > 0 && !route.methods.includes(method)) continue;
      found.pathAndMethod.push(route);
      found.route ||= route.methods.length > 0;
    }
    return found;
  }

  #index(): void {
    this.#routes.clear();
    this.#indexed = this.stack.length;
    const shapes = this.stack.map((route) => shapeOfRoute(route));
    this.#others = this.stack.filter((_, nth) => shapes[nth] === undefined);
    const known = shapes.flatMap((shape) => (shape ? [shape, { ...shape, verb: '' }] : []));
    for (const [key, of] of new Map(known.map((shape) => [keyOf(shape), shape]))) {
      const isMeant = (shape: Shape | undefined) =>
        !shape || (shape.segments === of.segments && (shape.verb === '' || shape.verb === of.verb));
      const meant = this.stack.filter((_, nth) => isMeant(shapes[nth]));
      this.#routes.set(key, meant);
    }
  }
}

function keyOf({ segments, verb }: Shape): string {
  return `${segments}:${verb}`;
}

function shapeOf(path: string): Shape {
  let segments = 0;
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) segments++;
  const colon = path.lastIndexOf(':');
  return { segments, verb: colon > path.lastIndexOf('/') ? path.slice(colon + 1) : '' };
}

/** Undefined for one whose segments cannot be counted. */
function shapeOfRoute({ path }: Layer): Shape | undefined {
  if (typeof path !== 'string' || /[*{}()]/.test(path)) return undefined;
  const { segments } = shapeOf(path);
  return { segments, verb: /\\:([A-Za-z]+)$/.exec(path)?.[1] ?? '' };
}

/** Addresses as they are written: no other case, no slash more or less. */
export const newRouter = (): KoaRouter.Router => new IndexedRouter({ strict: true, sensitive: true });
