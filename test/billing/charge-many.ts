/**
 * Charges two minutes of many awake servers in a process of its own, where nothing else takes processor time, and prints the
 * processor time of the second: `node charge-many.ts <url of a new store> <servers>`. The database works on threads that only
 * the process's sum shows.
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
