import { suite } from '../support/suite.ts';

suite('flows', 3);
