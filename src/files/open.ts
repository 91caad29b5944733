/** Servers' files for their owners, over the API and on pages. Never opens a path outside the jail. */
import type { StreamSlots } from '../http/stream-slots.ts';
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';
import type { Panel } from '../web/panel/panel.ts';
import { fileOperations } from './api.ts';
import { type Files, type FilesOptions, createFiles } from './files.ts';
import { mountBrowse } from './pages/browse.ts';
import { mountEdit } from './pages/edit.ts';
import { mountItem } from './pages/item.ts';
import { transferOperations } from './transfers-api.ts';

export interface OpenFilesOptions extends Omit<FilesOptions, 'log'>, Shared {
  /** Slots for long uploads and downloads. */
  transferSlots: StreamSlots;
}

/** Opens the servers' files, with their API and pages. */
export function openFiles(options: OpenFilesOptions): { files: Files; feature: Feature } {
  const { store, serverOperation, transferSlots, clock, ...rest } = options;
  const files = createFiles(rest);
  const needs = { files, store, serverOperation, transferSlots, clock };
  return {
    files,
    feature: { operations: [...fileOperations(needs), ...transferOperations(needs)], panel: mountFilePages },
  };
}

/** The pages of a server's files. */
function mountFilePages(panel: Panel): void {
  mountBrowse(panel);
  mountItem(panel);
  mountEdit(panel);
}
