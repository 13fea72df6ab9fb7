/**
 * The workspaces that the user trusts. Their real paths are listed in `trusted.json` in the configuration folder.
 *
 * Trust applies to one folder only, not to the folders inside it. A user who trusts a folder of projects does not
 * necessarily trust every project that is cloned into it later.
 */
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import { writePrivateFile } from '../../base/files/index.ts';
import { exclusively } from '../files/exclusive.ts';
import { readText, readWith } from './settings.ts';

const Trusted = z.strictObject({ folders: z.array(z.string()).max(10_000) });

function trustFile(configFolder: string): string {
  return path.join(configFolder, 'trusted.json');
}

async function trustedFolders(configFolder: string): Promise<readonly string[]> {
  const file = trustFile(configFolder);
  const text = await readText(file);
  return text === undefined ? [] : readWith(file, text, Trusted).folders;
}

export async function isTrusted(configFolder: string, workspace: string): Promise<boolean> {
  const folders = await trustedFolders(configFolder);
  return folders.includes(await realpath(workspace));
}

/** Adds the workspace to the list, or removes it if `trusted` is false. */
export async function trust(
  configFolder: string,
  workspace: string,
  trusted = true,
): Promise<void> {
  const folder = await realpath(workspace);
  const file = trustFile(configFolder);
  await exclusively(file, async () => {
    const others = (await trustedFolders(configFolder)).filter((each) => each !== folder);
    const folders = trusted ? [...others, folder] : others;
    writePrivateFile(file, `${JSON.stringify({ folders }, null, 2)}\n`);
  });
}
