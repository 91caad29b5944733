import test from 'ava';
import { isHere } from '../support/needs.ts';
import { dockerBench } from './docker-bench.ts';
import { engineConformance } from './engine.ts';
import { memoryBench } from './memory-bench.ts';
import { confinedBench, processBench } from './process-bench.ts';

engineConformance(test, 'memory', memoryBench);
engineConformance(test, 'process', processBench);
engineConformance(test.runIf(isHere('bubblewrap')), 'confined process', confinedBench);
engineConformance(test.runIf(isHere('docker')), 'docker', dockerBench);
