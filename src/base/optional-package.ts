import { systemCode } from './errors.ts';

/**
 * Loads a package that is not installed together with this library, because only some users need it. If it is missing,
 * throws an error that says how to install it.
 *
 *     const { default: pg } = await optionalPackage('pg', 'PostgreSQL', () => import('pg'));
 *
 * @param name the package to install
 * @param purpose what needs the package, as the subject of a sentence
 * @param load an `import` of the literal name, so that bundlers find it
 */
export async function optionalPackage<Module>(
  name: string,
  purpose: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(name, error)) throw error;
    throw new Error(
      `${purpose} needs the package ${name}, which is not installed: run npm install ${name}`,
      { cause: error },
    );
  }
}

/** Returns whether the package itself is missing, and not another package that it imports. */
function isMissing(name: string, error: unknown): boolean {
  return (
    systemCode(error) === 'ERR_MODULE_NOT_FOUND' &&
    error instanceof Error &&
    error.message.includes(`Cannot find package '${name}'`)
  );
}
