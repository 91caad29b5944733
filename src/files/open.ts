/** Servers' files for their owners, over the API and on pages. Never opens a path outside the jail. */
import type { StreamSlots } from '../http/stream-slots.ts';
import type { OpenFiles } from '../jail/open-files.ts';
import type { WorkerPool } from '../kernel/workers/pool.ts';
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';
import type { Panel } from '../web/panel/panel.ts';
import { fileOperations } from './api.ts';
import { Files, type Folders } from './files.ts';
import { mountBrowse } from './pages/browse.ts';
import { mountEdit } from './pages/edit.ts';
import { mountItem } from './pages/item.ts';
import { transferOperations } from './transfers-api.ts';

/** Opens the servers' files, with their API and pages. `transferSlots`: slots for long uploads and downloads. */
export function openFiles(
  { store, serveServer, clock, log }: Shared,
  folders: Folders,
  workers: WorkerPool,
  openFiles: OpenFiles,
  transferSlots: StreamSlots,
): { files: Files; feature: Feature } {
  const files = new Files(folders, workers, openFiles, log);
  const needs = { files, store, serveServer, transferSlots, clock };
  const operations = [...fileOperations(needs), ...transferOperations(needs)];
  return { files, feature: { operations, panel: mountFilePages } };
}

/** The pages of a server's files. */
function mountFilePages(panel: Panel): void {
  mountBrowse(panel);
  mountItem(panel);
  mountEdit(panel);
}
