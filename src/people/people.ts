import type { AccessChanges } from '../http/access-changes.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';
import type { Secret } from '../store/secret.ts';
import type { Store, Tx } from '../store/store.ts';
import type { FirstRunFile } from './first-run.ts';
import type { LoginLimits } from './login-limits.ts';
import type { Mail, Mailer } from './mail/mail.ts';

/** What everything about people works with. */
export interface People {
  store: Store;
  clock: Clock;
  log: Log;
  mailer: Mailer;
  loginLimits: LoginLimits;
  accessChanges: AccessChanges;
  secret: Secret;
  runBehind: RunBehind;
  /** Absent where there is none to remove. */
  firstRunFile?: FirstRunFile;
  /** Runs in the write that makes an account. */
  onAccount?: (tx: Tx, accountId: string, at: number) => Promise<void>;
  config: {
    /** Where browsers find the pages: links in letters begin with it. */
    baseUrl: string;
    signup: SignUp;
    /** Whether letters reach anybody: there is a mail server. What must be kept secret goes into no letter where there is none. */
    mail: boolean;
  };
}

/**
 * Who may make an account: whoever was let in by an operator's link (`closed`); whoever has a link that anybody may have sent to
 * an address of theirs (`letter`), so that nobody is told which addresses have accounts; or anybody at once (`open`), which is
 * for installations that can send no mail.
 */
export type SignUp = 'open' | 'letter' | 'closed';

/** What the settings come to: a letter needs somebody who delivers it. */
export function signUpMode({ signup, smtpUrl }: { signup: 'open' | 'closed'; smtpUrl: string | null }): SignUp {
  return signup === 'open' && smtpUrl !== null ? 'letter' : signup;
}

/** Starts work whose caller gets its answer at once. `what` names the work in the log if it fails. */
export type RunBehind = (what: string, work: () => Promise<void>) => void;

/** Errors of the work are logged, and closing waits until the work has ended. */
export function createRunBehind(log: Pick<Log, 'error'>, onClose: OnClose): RunBehind {
  const running = new Set<Promise<void>>();
  onClose(async () => {
    while (running.size > 0) await Promise.all(running);
  });
  return function runBehind(what, work) {
    const run = async () => {
      try {
        await work();
      } catch (error) {
        log.error({ err: error }, `${what} failed`);
      }
    };
    const ended = run().finally(() => running.delete(ended));
    running.add(ended);
  };
}

/** Sends a letter behind its caller's back: what asked for it is done already, and does not fail for a mail server. */
export function post({ mailer, log }: Pick<People, 'mailer' | 'log'>, mail: Mail): void {
  mailer.send(mail).catch((error: unknown) => log.error({ err: error }, 'a letter could not be sent'));
}
