import { createRequire } from 'node:module';
import type * as KoaRouter from '@koa/router';

// Loaded in this way so that `node:http` is not imported as an ES module: see kernel/node-http.ts.
const { Router } = createRequire(import.meta.url)('@koa/router') as typeof KoaRouter;

type Layer = KoaRouter.Layer;

/** Groups routes by the number of segments and the verb at the end ('' if absent). */
interface Shape {
  segments: number;
  verb: string;
}

/** The arguments a route was added with. */
type Route = Parameters<KoaRouter.Router['register']>;

/**
 * A router that tries only the routes with the shape of the request's path. The library's own tries all regular
 * expressions in turn, which takes longer than most operations. Routes are compiled on first use, because compiling all
 * of them is a twentieth of the start-up time.
 */
export class IndexedRouter extends Router {
  /** In order of registration. */
  readonly added: Route[] = [];
  readonly #made = new Map<Route, Layer>();
  /** By `keyOf`, each in the order of registration. */
  readonly #routes = new Map<string, readonly Route[]>();
  /** Routes with any number of segments. */
  #others: readonly Route[] = [];
  #indexed = 0;

  override register(...route: Route): this {
    this.added.push(route);
    return this;
  }

  override match(path: string, method: string): KoaRouter.MatchResult {
    if (this.#indexed !== this.added.length) this.#index();
    const found: KoaRouter.MatchResult = { path: [], pathAndMethod: [], route: false };
    const shape = shapeOf(path);
    const routes = this.#routes.get(keyOf(shape)) ?? this.#routes.get(keyOf({ ...shape, verb: '' })) ?? this.#others;
    for (const route of routes) {
      const layer = this.#layerOf(route);
      if (!layer.match(path)) continue;
      found.path.push(layer);
      if (layer.methods.length > 0 && !layer.methods.includes(method)) continue;
      found.pathAndMethod.push(layer);
      found.route ||= layer.methods.length > 0;
    }
    return found;
  }

  #layerOf(route: Route): Layer {
    let layer = this.#made.get(route);
    if (layer === undefined) {
      layer = super.register(...route) as Layer;
      this.#made.set(route, layer);
    }
    return layer;
  }

  #index(): void {
    this.#routes.clear();
    this.#indexed = this.added.length;
    const shapes = this.added.map(([path]) => shapeOfRoute(path));
    this.#others = this.added.filter((_, nth) => shapes[nth] === undefined);
    const known = shapes.flatMap((shape) => (shape ? [shape, { ...shape, verb: '' }] : []));
    for (const [key, of] of new Map(known.map((shape) => [keyOf(shape), shape]))) {
      const matches = (shape: Shape | undefined) =>
        !shape || (shape.segments === of.segments && (shape.verb === '' || shape.verb === of.verb));
      const matching = this.added.filter((_, nth) => matches(shapes[nth]));
      this.#routes.set(key, matching);
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

/** Returns undefined if the route's segments cannot be counted. */
function shapeOfRoute(path: Route[0]): Shape | undefined {
  if (typeof path !== 'string' || /[*{}()]/.test(path)) return undefined;
  const { segments } = shapeOf(path);
  return { segments, verb: /\\:([A-Za-z]+)$/.exec(path)?.[1] ?? '' };
}

/** Creates a router that matches paths exactly, including case and trailing slash. */
export const newRouter = (): KoaRouter.Router => new IndexedRouter({ strict: true, sensitive: true });
