/**
 * The memory of the agent: the user's memory (AGENTS.md in the configuration folder), and AGENTS.md, GEMINI.md and
 * CLAUDE.md in the workspace and its parent folders. The outermost folder comes first, because models give more weight
 * to what they read last.
 *
 * Parent folders are read up to the root of the repository, or up to the home folder if there is no repository. If
 * there is no repository and the workspace is outside the home folder, only the workspace itself is read. Other users
 * can write to folders such as /tmp, and must not give instructions to the agent. For the same reason, a repository
 * counts only if its `.git` belongs to the user or to the owner of the workspace.
 *
 * The model gets the content of these files without a tool call, even if the user does not trust the workspace. So a
 * link is followed only to a file in the workspace, or to a file with one of these names in one of these folders. A
 * file is left out if the rules protect it from being read. Only the user's memory may be a link to any file. If
 * several files have the same content, only the last one is used.
 */
import { lstat, realpath } from 'node:fs/promises';
import { systemCode, cutText } from '../../base/index.ts';
import { writePrivateFile } from '../../base/files/index.ts';
import { homeFolder } from '../../base/system/index.ts';
import path from 'node:path';
import { exclusively } from './exclusive.ts';
import { FileError } from './file-error.ts';
import { isInside, isOfSystem } from './path-rules.ts';
import { readBounded } from './read-bounded.ts';

const NAMES = ['AGENTS.md', 'GEMINI.md', 'CLAUDE.md'];
/** Maximum size of one file. Only the start of a larger file is read. */
const MAX_FILE_BYTES = 64 * 1024;
/** Maximum total length of all texts. The files that are nearest to the workspace take precedence. */
const MAX_TOTAL_CHARACTERS = 256 * 1024;
/** Maximum number of folders that are looked at: the workspace and its nearest parent folders. */
const MAX_FOLDERS = 64;
/** The maximum length of one entry of the user's memory. */
const MAX_NOTE_CHARACTERS = 4096;

export interface MemoryFile {
  readonly path: string;
  readonly scope: 'user' | 'workspace';
  readonly text: string;
  /** True if `text` is not the whole file. */
  readonly cut: boolean;
}

export interface Memory {
  /** The files, in the order in which the model reads them. */
  readonly files: readonly MemoryFile[];
  /** One line for each existing file that was not read, with the reason. */
  readonly problems: readonly string[];
}

/** Returns the path of the file that `addMemory` writes to. */
export function userMemoryFile(configFolder: string): string {
  return path.join(configFolder, 'AGENTS.md');
}

export async function loadMemory(options: {
  readonly workspace: string;
  readonly configFolder: string;
  readonly home?: string;
  /** Returns whether the model may get the file of the workspace with this real path. Default: always true. */
  readonly shows?: ((file: string) => boolean) | undefined;
  readonly signal?: AbortSignal;
}): Promise<Memory> {
  const { configFolder, shows, signal } = options;
  const workspace = await realpath(options.workspace);
  const folders = await foldersAround(workspace, options.home ?? homeFolder());
  const candidates = [
    { file: userMemoryFile(configFolder), scope: 'user' as const },
    ...folders.flatMap((folder) =>
      NAMES.map((name) => ({ file: path.join(folder, name), scope: 'workspace' as const })),
    ),
  ];
  const files: MemoryFile[] = [];
  const problems: string[] = [];
  const paths = new Set<string>();
  const texts = new Set<string>();
  let left = MAX_TOTAL_CHARACTERS;
  for (const { file, scope } of candidates.toReversed()) {
    signal?.throwIfAborted();
    try {
      const read = await readBounded(file, MAX_FILE_BYTES);
      if (scope === 'workspace') {
        const isInWorkspace = isInside(workspace, read.path) && !isOfSystem(read.path);
        if (!isInWorkspace && !isMemory(read.path, folders)) {
          const problem = `${file} is outside the workspace: it is a link to ${read.path}`;
          throw new FileError('outside', problem);
        }
        if (shows?.(read.path) === false) {
          throw new FileError('protected', `${file}: a rule protects it from being read`);
        }
      }
      const whole = read.bytes.toString('utf8').replace(/^\ufeff/, '');
      if (whole.trim() === '' || paths.has(read.path) || texts.has(whole)) continue;
      paths.add(read.path);
      texts.add(whole);
      const text = cutText(whole, left);
      left -= text.length;
      const cut = text.length < whole.length || read.size > read.bytes.length;
      if (text === '')
        problems.push(`${file} was not read, because the other files already reach the size limit`);
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

/** Returns whether the path is a memory file in one of these folders. Case is ignored, as on some file systems. */
function isMemory(real: string, folders: readonly string[]): boolean {
  const name = path.basename(real).toUpperCase();
  return folders.includes(path.dirname(real)) && NAMES.some((each) => each.toUpperCase() === name);
}

/** Returns the files as one text for the system instruction, or undefined if there are no files. */
export function memoryText({ files }: Memory): string | undefined {
  if (files.length === 0) return undefined;
  return files
    .map(({ path, text, cut }) => {
      const note = cut ? '\n[The file is longer. This is its start.]' : '';
      return `## From ${path}\n\n${text.trim()}${note}`;
    })
    .join('\n\n');
}

/**
 * Adds a line to the user's memory and returns the path of the file. If `once` is true and the memory already has this
 * line, adds nothing and returns undefined. Throws a RangeError if the text is empty or too long, or if the memory is
 * full.
 */
export async function addMemory(
  configFolder: string,
  note: string,
  { once = false } = {},
): Promise<string | undefined> {
  const file = userMemoryFile(configFolder);
  const line = foldSpace(note);
  if (line === '' || line.length > MAX_NOTE_CHARACTERS) {
    throw new RangeError(`the text must have 1 to ${MAX_NOTE_CHARACTERS} characters`);
  }
  return exclusively(file, async () => {
    const before = await readBounded(file, MAX_FILE_BYTES).catch((error: unknown) => {
      if (systemCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    const text = before?.bytes.toString('utf8') ?? '';
    if (once && hasLine(text, line)) return undefined;
    const added = `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}- ${line}\n`;
    if ((before?.size ?? 0) > MAX_FILE_BYTES || Buffer.byteLength(added) > MAX_FILE_BYTES) {
      throw new RangeError(
        `the memory is full (${MAX_FILE_BYTES} bytes); remove lines from ${file}`,
      );
    }
    writePrivateFile(file, added);
    return file;
  });
}

/** Returns whether the text has this line, ignoring case, white space and list markers. */
function hasLine(text: string, line: string): boolean {
  const wanted = line.toLowerCase();
  const plain = (each: string): string => foldSpace(each).replace(/^[-*] /, '');
  return text.split('\n').some((each) => plain(each).toLowerCase() === wanted);
}

/** Returns the text on one line, with single spaces instead of white space and control characters. */
export function foldSpace(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();
}

/** Returns the folders whose files are read, the outermost first, the workspace last. */
async function foldersAround(workspace: string, home: string): Promise<string[]> {
  const around = [workspace];
  while (around.length < MAX_FOLDERS && path.dirname(around[0]!) !== around[0]) {
    around.unshift(path.dirname(around[0]!));
  }
  for (let at = around.length - 1; at >= 0; at -= 1) {
    if (await isRepository(around[at]!, workspace)) return around.slice(at);
  }
  const realHome = await realpath(home).catch(() => home);
  return around.filter((folder) => folder === workspace || isInside(realHome, folder));
}

/** Returns whether the folder has a `.git` that belongs to the user or to the owner of the workspace. */
async function isRepository(folder: string, workspace: string): Promise<boolean> {
  const git = await lstat(path.join(folder, '.git')).catch(() => undefined);
  if (git === undefined) return false;
  return git.uid === process.getuid?.() || git.uid === (await lstat(workspace)).uid;
}
