import type { Router } from '@koa/router';
import type { ApiFeature } from '../http/app.ts';
import type { Panel } from './panel/panel.ts';
import type { Serve } from './serve.ts';

/** The public parts of a room: its API and its pages. */
export interface Feature extends ApiFeature {
  /** Pages in the common frame. Routes without it are added to `router`. */
  pages?: (serve: Serve, router: Router) => void;
  /** Pages for owners, which use only the API's operations. */
  panel?: (panel: Panel) => void;
}
