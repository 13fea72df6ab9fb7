/** Installs the programs for `npm run test:clients` into the cache folder. */
import { install, programs } from '../test/clients/programs.ts';

for (const program of Object.values(programs)) install(program);
