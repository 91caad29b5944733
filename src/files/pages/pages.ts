import type { Panel } from '../../web/panel/panel.ts';
import { mountBrowse } from './browse.ts';
import { mountEdit } from './edit.ts';
import { mountItem } from './item.ts';

/** The pages of a server's files. */
export function mountFilePages(panel: Panel): void {
  mountBrowse(panel);
  mountItem(panel);
  mountEdit(panel);
}
