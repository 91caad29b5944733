import test from 'ava';
import { isHere } from '../support/needs.ts';
import { startService } from '../support/service.ts';
import { wakeAndPlay } from '../support/wake-and-play.ts';

const CONTAINERS = { ENGINE: 'docker' };
const LONG_HOLD_MS = 45_000;

test.serial.runIf(isHere('docker'))(
  'players of 1.16.5 and 1.21.11 wake sleeping containers, are held for 45 s and find their builds again',
  async (t) => {
    const service = await startService(t, { ...CONTAINERS, SANDBOX_FAULTS: `START_MS=${LONG_HOLD_MS}` });
    await wakeAndPlay(t, service, { versions: ['1.16.5', '1.21.11'], holdMs: LONG_HOLD_MS, afterwards: CONTAINERS });
  },
);

test.serial.runIf(isHere('docker'))(
  'players of 1.8.8, 1.12.2, 1.20.4 and 26.1 wake containers that start at once and find their builds again',
  async (t) => {
    const service = await startService(t, CONTAINERS);
    await wakeAndPlay(t, service, {
      versions: ['1.8.8', '1.12.2', '1.20.4', '26.1'],
      holdMs: 0,
      afterwards: CONTAINERS,
    });
  },
);
