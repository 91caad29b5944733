import test from 'ava';
import { startService } from '../support/service.ts';
import { wakeAndPlay } from '../support/wake-and-play.ts';

const PROCESSES = { ENGINE: 'process' };
/** Past the thirty seconds after which clients give up on a silent server. */
const LONG_HOLD_MS = 45_000;
/**
 * The bots of 1.8 to 1.12 do not survive the packet that holds the game's own clients of that time, and which is first sent
 * after 20 s: they are held for less. The long hold of those protocols is in test/proxy, with a client of our own.
 */
const SHORT_HOLD_MS = 4_000;

// One after the other: each is several games and clients at once, and a machine too busy misses deadlines meant for strangers.
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
