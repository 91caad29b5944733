import type { AccessChanges } from '../http/access-changes.ts';
import type { Clock } from '../kernel/clock.ts';
import type { OnClose } from '../kernel/closers.ts';
import type { Log } from '../kernel/log.ts';
import type { Secret } from '../store/secret.ts';
import type { Store, Tx } from '../store/store.ts';
import type { FirstRunFile } from './first-run.ts';
import type { LoginLimits } from './login-limits.ts';
import type { Mail, Mailer } from './mail/mail.ts';

/** Dependencies shared by everything about people. */
export interface People {
  store: Store;
  clock: Clock;
  log: Log;
  mailer: Mailer;
  loginLimits: LoginLimits;
  accessChanges: AccessChanges;
  secret: Secret;
  runBehind: RunBehind;
  /** Absent if there is no such file. */
  firstRunFile?: FirstRunFile;
  /** Runs in the write that creates an account. */
  onAccount?: (tx: Tx, accountId: string, at: number) => Promise<void>;
  config: {
    /** The pages' base URL for browsers; links in e-mails begin with it. */
    baseUrl: string;
    signup: SignUp;
    /** Whether a mail server is set up. Without one, e-mails (logged instead) contain no secrets. */
    mail: boolean;
  };
}

/**
 * The people who can create an account. `closed`: people invited by an operator. `letter`: people with a link, which
 * anyone can request for their own address; it hides which addresses have accounts. `open`: anyone at once, for
 * installations that cannot send e-mail.
 */
export type SignUp = 'open' | 'letter' | 'closed';

/** Derives the sign-up mode from the settings: links by e-mail need a mail server. */
export function signUpMode({ signup, smtpUrl }: { signup: 'open' | 'closed'; smtpUrl: string | null }): SignUp {
  return signup === 'open' && smtpUrl !== null ? 'letter' : signup;
}

/**
 * Starts work in the background, while its caller gets the answer at once. `what` names the work in the log if it
 * fails.
 */
export type RunBehind = (what: string, work: () => Promise<void>) => void;

/** Creates a `RunBehind`. It logs errors of the work, and closing waits until all work has ended. */
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

/**
 * Sends an e-mail in the background. The action it reports is already done and must not fail because of the mail
 * server.
 */
export function post({ mailer, log }: People, mail: Mail): void {
  mailer.send(mail).catch((error: unknown) => log.error({ err: error }, 'an e-mail could not be sent'));
}
