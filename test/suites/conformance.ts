import { suite } from '../support/suite.ts';

suite('conformance', 6);
