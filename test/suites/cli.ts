import { suite } from '../support/suite.ts';

suite('cli', 3);
