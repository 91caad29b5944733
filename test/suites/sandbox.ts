import { suite } from '../support/suite.ts';

suite('sandbox', 6);
