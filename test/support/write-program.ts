import { execFileSync } from 'node:child_process';

/**
 * Writes a program that a test runs. Another process writes the file. If this one did, a child forked at that moment
 * would still hold it open, and Linux refuses to run a file that is open for writing (ETXTBSY).
 */
export function writeProgram(path: string, text: string): void {
  execFileSync('sh', ['-c', 'cat > "$0" && chmod 755 "$0"', path], { input: text });
}
