import test from 'ava';
import { dockerBench } from './docker-bench.ts';
import { engineConformance } from './engine.ts';
import { memoryBench } from './memory-bench.ts';

engineConformance(test, 'memory', memoryBench);
engineConformance(test, 'docker', dockerBench);
