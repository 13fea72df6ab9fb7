import { systemCode } from '../../base/index.ts';

/** The packages that an agent's file may import without having them installed. */
export const LENT = /^(parley-a2a|zod)(\/|$)/;

/**
 * Returns the URL of this program's own copy of a package in LENT. The published program has the copies in a folder of
 * its own (`imports` in its package.json). In the repository, these packages are resolved like other packages.
 */
export function ownCopyOf(specifier: string): string {
  try {
    return import.meta.resolve(`#own/${specifier}`);
  } catch (error) {
    if (systemCode(error) !== 'ERR_PACKAGE_IMPORT_NOT_DEFINED') throw error;
    return import.meta.resolve(specifier);
  }
}
