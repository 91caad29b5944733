import { suite } from '../support/suite.ts';

suite('engines', 6);
