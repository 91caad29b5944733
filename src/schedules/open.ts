/**
 * Runs scheduled tasks on time, and each run once. Never runs a task more than a minute late, such as after an outage.
 */
import type { AccessChanges } from '../http/access-changes.ts';
import type { Shared } from '../servers/shared.ts';
import type { Feature } from '../web/feature.ts';
import { type ScheduleActionsOptions, scheduleActions } from './actions.ts';
import { scheduleOperations } from './api.ts';
import { stopSchedulesOf } from './authors.ts';
import { mountSchedulePages } from './pages/schedules-page.ts';
import { Schedules } from './schedules.ts';

export interface OpenSchedulesOptions extends Shared, ScheduleActionsOptions {
  accessChanges: AccessChanges;
}

/** Runs due schedules from now on. Call it once all checks that can refuse a start are in place. */
export async function openSchedules(options: OpenSchedulesOptions): Promise<Feature> {
  const { store, accessChanges, serverOperation, log, onClose, clock } = options;
  const schedules = await Schedules.open({ store, clock, log, actions: scheduleActions(options) });
  onClose(() => schedules.close());
  accessChanges.onWrite(stopSchedulesOf);
  return { operations: scheduleOperations({ schedules, serverOperation, store, clock }), panel: mountSchedulePages };
}
