/**
 * Charges two minutes of many awake servers and prints the processor time of the second minute:
 * `node charge-many.ts <url of a new store> <servers>`. It runs in a process of its own, because only the total of the
 * process includes the threads of the database.
 */
import { TABLES } from '../../src/tables.ts';
import process from 'node:process';
import { openStore } from '../../src/store/store.ts';
import { chargeDue, fillAwake, START } from '../support/many-awake.ts';

const MINUTE_MS = 60_000;

const store = await openStore(process.argv[2] ?? '', TABLES);
await fillAwake(store, Number(process.argv[3]));
const first = await chargeDue(store, START + MINUTE_MS);
const ran = process.cpuUsage();
const second = await chargeDue(store, START + 2 * MINUTE_MS);
const { user, system } = process.cpuUsage(ran);
await store.close();
process.stdout.write(JSON.stringify({ charged: [first, second], cpuMs: (user + system) / 1_000 }));
