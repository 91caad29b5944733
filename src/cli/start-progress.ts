import { duration, words } from './format.ts';
import type { Server } from './shapes.ts';
import type { Terminal } from './terminal.ts';

const BAR_COLUMNS = 24;
/** Percent between lines without a terminal, to keep a build's log short. */
const PLAIN_STEP = 10;

/** Shows the progress of a start: one redrawn line on a terminal, otherwise a line per phase and per ten percent. */
export function startProgress(terminal: Terminal): (server: Server) => void {
  const begun = Date.now();
  return ({ id, state, startupPhase, startupPercent, startErrorCode }) => {
    const isLost = startErrorCode === 'node_lost';
    const phase = isLost ? 'its machine does not answer' : words((state === 'starting' && startupPhase) || state);
    const seconds = Math.floor((Date.now() - begun) / 1000);
    const percent = startupPercent > 0 ? `${String(startupPercent).padStart(3)} %` : '';
    const step = startupPercent - (startupPercent % PLAIN_STEP);
    terminal.progress(
      [id, bar(startupPercent, terminal), percent, phase, duration(seconds)].filter((part) => part !== '').join('  '),
      `${id}: ${phase}${step > 0 ? ` ${step} %` : ''}`,
    );
  };
}

function bar(percent: number, { err }: Terminal): string {
  const filled = Math.round((Math.min(100, Math.max(0, percent)) / 100) * BAR_COLUMNS);
  return err.style('green', '█'.repeat(filled)) + err.style('dim', '░'.repeat(BAR_COLUMNS - filled));
}
