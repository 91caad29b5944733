import { suite } from '../support/suite.ts';

suite('proxy', 6);
