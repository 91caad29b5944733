import { suite } from '../support/suite.ts';

suite('backups', 6);
