import { suite } from '../support/suite.ts';

suite('imports');
