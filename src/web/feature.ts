import type { Router } from '@koa/router';
import type { ApiFeature } from '../http/app.ts';
import type { Panel } from './panel/panel.ts';
import type { Serve } from './serve.ts';

/** The public parts of a room: its API and its pages. */
export interface Feature extends ApiFeature {
  /** Pages, in the frame that all pages share; what needs none has its route from `router`. */
  pages?: (serve: Serve, router: Router) => void;
  /** Pages for owners, which do what the API does by its operations. */
  panel?: (panel: Panel) => void;
}
