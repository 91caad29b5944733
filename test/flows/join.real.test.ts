import test from 'ava';
import { startService } from '../support/service.ts';
import { wakeAndPlay } from '../support/wake-and-play.ts';

const PROCESSES = { ENGINE: 'process' };
/** Longer than 30 s, after which clients leave a silent server. */
const LONG_HOLD_MS = 45_000;
/**
 * The bots of 1.8 to 1.12 crash on the packet that keeps held clients of those versions connected. It is first sent
 * after 20 s, so these bots are held for less. test/proxy tests the long hold with another client.
 */
const SHORT_HOLD_MS = 4_000;

// Run these tests one after the other. Each runs several games and clients, and a busy machine would miss connection deadlines.
test.serial(
  'players of 1.16.5 to 26.1 wake sleeping processes, are held for 45 s and find their builds again',
  async (t) => {
    const service = await startService(t, { ...PROCESSES, SANDBOX_FAULTS: `START_MS=${LONG_HOLD_MS}` });
    const versions = ['1.16.5', '1.20.4', '1.21.11', '26.1'];
    await wakeAndPlay(t, service, { versions, holdMs: LONG_HOLD_MS, afterwards: PROCESSES });
  },
);

test.serial(
  'players of 1.8.8 and 1.12.2 wake sleeping processes, are held for 4 s and find their builds again',
  async (t) => {
    const service = await startService(t, { ...PROCESSES, SANDBOX_FAULTS: `START_MS=${SHORT_HOLD_MS}` });
    await wakeAndPlay(t, service, { versions: ['1.8.8', '1.12.2'], holdMs: SHORT_HOLD_MS, afterwards: PROCESSES });
  },
);
