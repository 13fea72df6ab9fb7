/** Where a user's settings, commands and memory are: `$XDG_CONFIG_HOME/parley`, or `~/.config/parley`. */
import { randomBytes } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';

export function configFolder(environment: Readonly<Record<string, string | undefined>>): string {
  const config = environment['XDG_CONFIG_HOME'];
  // Relative paths are to be ignored, says the XDG specification.
  const base =
    config !== undefined && path.isAbsolute(config) ? config : path.join(homedir(), '.config');
  return path.join(base, 'parley');
}

/** Writes a file of the user's that nobody else may read; it is there whole or as it was. */
export async function writePrivate(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
