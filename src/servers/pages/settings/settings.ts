import type { Panel } from '../../../web/panel/panel.ts';
import { mountDescriptionSettings } from './description.ts';
import { mountGameSettings } from './game.ts';
import { mountGeneralSettings } from './general.ts';
import { mountVersionSettings } from './version.ts';

/** Mounts the settings of the server itself. Other settings pages are in the rooms of their subjects. */
export function mountServerSettings(panel: Panel, settings: { idleTimeoutMinutes: number }): void {
  mountGeneralSettings(panel);
  mountDescriptionSettings(panel);
  mountGameSettings(panel, settings);
  mountVersionSettings(panel);
}
