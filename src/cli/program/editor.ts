/** Edits a text in the user's editor: $VISUAL, $EDITOR, or vi. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Environment } from './flags.ts';
import { isWindows } from '../../base/system/index.ts';

/**
 * Returns a function that opens a text in the editor. It returns the saved text, or undefined if the editor failed or
 * nothing was changed.
 */
export function personsEditor(environment: Environment) {
  return async (text: string, fileName: string): Promise<string | undefined> => {
    await using folder = await mkdtempDisposable(path.join(tmpdir(), 'parley-edit-'));
    const file = path.join(folder.path, path.basename(fileName) || 'text');
    await writeFile(file, text, { mode: 0o600 });
    const command = environment['VISUAL'] || environment['EDITOR'] || 'vi';
    if ((await runEditor(command, file)) !== 0) return undefined;
    const saved = await readFile(file, 'utf8');
    return saved === text ? undefined : saved;
  };
}

/**
 * Runs the editor and returns its exit code. A shell parses `command`, because it may contain arguments. Except on
 * Windows, the file name is passed separately and is not parsed.
 */
async function runEditor(command: string, file: string): Promise<unknown> {
  const child = isWindows
    ? spawn(`${command} "${file}"`, { stdio: 'inherit', shell: true })
    : spawn('/bin/sh', ['-c', `${command} "$1"`, 'editor', file], { stdio: 'inherit' });
  const [code] = await once(child, 'exit');
  return code;
}
