import process from 'node:process';

/** Kills a process at once; one that has ended by itself meanwhile is as good. */
export function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
