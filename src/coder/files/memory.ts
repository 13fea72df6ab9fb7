/**
 * What the agent is to know from the start: the user's own memory (AGENTS.md in the configuration folder), and
 * AGENTS.md, GEMINI.md and CLAUDE.md of the workspace and of the folders around it, the outermost first, so that what
 * is nearest is read last and weighs most.
 *
 * How far around: to the root of the repository that the workspace is in; where there is none, to the home folder;
 * outside of that only the workspace itself. Whoever can write to /tmp or / shall not speak to everybody's agent.
 *
 * Files reach the model, so a link in one of these folders must not lead out of the outermost of them. What is there
 * twice, as a link or as a copy, is read once.
 */
import { realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { systemCode, cutText } from '../../base/index.ts';
import path from 'node:path';
import { FileError } from './file-error.ts';
import { isInside } from './path-rules.ts';
import { inTurn } from './queue.ts';
import { isThere, readBounded } from './read-bounded.ts';
import { writePrivate } from './config-folder.ts';

const NAMES = ['AGENTS.md', 'GEMINI.md', 'CLAUDE.md'];
/** The start of a longer file is taken. */
const MAX_FILE_BYTES = 64 * 1024;
/** Of all together; the nearest are taken first. */
const MAX_TOTAL_CHARACTERS = 256 * 1024;
const MAX_FOLDERS = 64;
/** The user's own memory does not grow beyond what is read of it. */
const MAX_NOTE_CHARACTERS = 4096;

export interface MemoryFile {
  readonly path: string;
  readonly scope: 'user' | 'workspace';
  readonly text: string;
  /** Not all of it is in `text`. */
  readonly cut: boolean;
}

export interface Memory {
  /** In the order in which they are to be read. */
  readonly files: readonly MemoryFile[];
  /** Files that were not read, each with the reason, in one line. */
  readonly problems: readonly string[];
}

/** The file that `addMemory` writes to. */
export function userMemoryFile(configFolder: string): string {
  return path.join(configFolder, 'AGENTS.md');
}

export async function loadMemory(options: {
  readonly workspace: string;
  readonly configFolder: string;
  readonly home?: string;
  readonly signal?: AbortSignal;
}): Promise<Memory> {
  const { configFolder, signal } = options;
  const workspace = await realpath(options.workspace);
  const folders = await foldersAround(workspace, options.home ?? homedir());
  const within = folders[0]!;
  const candidates = [
    // The user may keep it wherever they like.
    { file: userMemoryFile(configFolder), scope: 'user' as const },
    ...folders.flatMap((folder) =>
      NAMES.map((name) => ({ file: path.join(folder, name), scope: 'workspace' as const, within })),
    ),
  ];
  const files: MemoryFile[] = [];
  const problems: string[] = [];
  const paths = new Set<string>();
  const texts = new Set<string>();
  let left = MAX_TOTAL_CHARACTERS;
  for (const { file, scope, ...limits } of candidates.toReversed()) {
    signal?.throwIfAborted();
    try {
      const read = await readBounded(file, MAX_FILE_BYTES, limits);
      const whole = read.bytes.toString('utf8').replace(/^\ufeff/, '');
      if (whole.trim() === '' || paths.has(read.path) || texts.has(whole)) continue;
      paths.add(read.path);
      texts.add(whole);
      const text = cutText(whole, left);
      left -= text.length;
      const cut = text.length < whole.length || read.size > read.bytes.length;
      if (text === '') problems.push(`${file} was not read: there is too much before it`);
      else files.push({ path: file, scope, text, cut });
    } catch (error) {
      const code = systemCode(error);
      if (code === 'ENOENT' || code === 'ENOTDIR') continue;
      const reason =
        error instanceof FileError ? error.message : `${file}: ${code ?? 'unreadable'}`;
      problems.push(`not read: ${reason}`);
    }
  }
  return { files: files.toReversed(), problems };
}

/** The files as one text for a model's instructions; undefined when there are none. */
export function memoryText({ files }: Memory): string | undefined {
  if (files.length === 0) return undefined;
  return files
    .map(({ path, text, cut }) => {
      const note = cut ? '\n[The file is longer; this is its start.]' : '';
      return `## From ${path}\n\n${text.trim()}${note}`;
    })
    .join('\n\n');
}

/** Adds a line to the user's memory. Throws when it is full, with what to do. */
export async function addMemory(configFolder: string, note: string): Promise<string> {
  const file = userMemoryFile(configFolder);
  const line = note.trim().replaceAll(/\s*\n\s*/g, ' ');
  if (line === '' || line.length > MAX_NOTE_CHARACTERS) {
    throw new RangeError(`a memory has 1 to ${MAX_NOTE_CHARACTERS} characters`);
  }
  return inTurn([file], async () => {
    const before = await readBounded(file, MAX_FILE_BYTES).catch((error: unknown) => {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    const text = before?.bytes.toString('utf8') ?? '';
    const added = `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}- ${line}\n`;
    if ((before?.size ?? 0) > MAX_FILE_BYTES || Buffer.byteLength(added) > MAX_FILE_BYTES) {
      throw new RangeError(`the memory is full (${MAX_FILE_BYTES} bytes); shorten ${file}`);
    }
    // Through a link, where the user has made one.
    await writePrivate(before?.path ?? file, added);
    return file;
  });
}

/** The folders whose files count, the outermost first, the workspace last. */
async function foldersAround(workspace: string, home: string): Promise<string[]> {
  const around = [workspace];
  while (around.length < MAX_FOLDERS && path.dirname(around[0]!) !== around[0]) {
    around.unshift(path.dirname(around[0]!));
  }
  for (let at = around.length - 1; at >= 0; at -= 1) {
    if (await isThere(path.join(around[at]!, '.git'))) return around.slice(at);
  }
  const realHome = await realpath(home).catch(() => home);
  return around.filter((folder) => folder === workspace || isInside(realHome, folder));
}
