import { suite } from '../support/suite.ts';

suite('sftp', 6);
