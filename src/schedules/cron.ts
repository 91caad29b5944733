import { Cron } from 'croner';

const MAX_CHARS = 120;

/**
 * When a cron expression next comes due after an instant (epoch ms): five fields - minute, hour, day of month, month, day of
 * week - in UTC, hence never twice a minute. Null where the expression cannot be read, or never comes due.
 */
export function nextRun(cronExpr: string, after: number): number | null {
  if (cronExpr.length > MAX_CHARS || cronExpr.trim().split(/\s+/).length !== 5) return null;
  try {
    const cron = new Cron(cronExpr, { mode: '5-part', timezone: 'UTC', paused: true });
    return cron.nextRun(new Date(after))?.getTime() ?? null;
  } catch {
    return null;
  }
}
