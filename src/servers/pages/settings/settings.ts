import type { Panel } from '../../../web/panel/panel.ts';
import { mountDescriptionSettings } from './description.ts';
import { mountGameSettings } from './game.ts';
import { mountGeneralSettings } from './general.ts';
import { mountVersionSettings } from './version.ts';

/** The settings of a server itself; further pages of settings lie in the rooms of what they are about. */
export function mountServerSettings(panel: Panel, settings: { idleTimeoutMinutes: number }): void {
  mountGeneralSettings(panel);
  mountDescriptionSettings(panel);
  mountGameSettings(panel, settings);
  mountVersionSettings(panel);
}
