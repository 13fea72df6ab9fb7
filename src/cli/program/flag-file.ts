import { readFileSync } from 'node:fs';
import { reasonOf, systemCode } from '../../base/index.ts';
import { usageError } from './exit.ts';

/** Returns the text of a file that a flag names. Throws a usage error if it cannot be read. */
export function readFlagFile(flag: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const why = systemCode(error) === 'ENOENT' ? 'no such file' : reasonOf(error);
    throw usageError(`${flag} ${file}: ${why}`, { cause: error });
  }
}
