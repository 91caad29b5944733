import test from 'ava';
import { dockerBench } from './docker-bench.ts';
import { engineConformance } from './engine.ts';
import { memoryBench } from './memory-bench.ts';
import { confinedBench, processBench } from './process-bench.ts';

engineConformance(test, 'memory', memoryBench);
engineConformance(test, 'process', processBench);
engineConformance(test, 'confined process', confinedBench);
engineConformance(test, 'docker', dockerBench);
