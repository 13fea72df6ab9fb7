/**
 * Converts a user's message to content for the model.
 *
 * `@src/a.ts` in a prompt is a mention. The text stays as it is, and the file's content, the image or the folder's
 * listing is added after it. A mention starts a word, so an e-mail address is not a mention. A name with spaces is
 * quoted (`@"my file"`), or its spaces are escaped with backslashes. `\@` is a plain @. A mention of a file that does
 * not exist is left as it is, without an error, because people use @ for other purposes too.
 *
 * A quoted text part (approval/quoted.ts) has no mentions.
 *
 * Files in the parts of a message are added in the same way. Images, PDF documents and text are added with their
 * content. Of any other file, only the name, the kind and the size are added. The same applies to an image or document
 * that is too large. A `file:` URI in the workspace is read like a mention. A `file:` URI outside the workspace is
 * refused. A file with any other kind of URI is not fetched, and the model gets only its name and its URI.
 *
 * The policy rules for `read_file` and `list_directory` apply to all files and folders that are read.
 */
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { cutText, imageType, MAX_IMAGE_BYTES, sizeOf } from '../../base/index.ts';
import { fileURLToPath } from 'node:url';
import type { ContentPart } from '../../agent/index.ts';
import { fromA2AParts } from '../../bridge/index.ts';
import type { Part as A2APart } from '../../protocol/index.ts';
import { decide, resultFilter, type Policy, type Subject } from '../approval/policy.ts';
import { isQuoted } from '../approval/quoted.ts';
import { FileError } from '../files/file-error.ts';
import { binaryKind } from '../files/text.ts';
import type { Workspace } from '../files/workspace.ts';
import { LEFT_OUT } from '../tools/tool.ts';

/** Maximum size of the text of one file. Only the beginning of a longer text is used. */
const MAX_TEXT_BYTES = 256 * 1024;
/**
 * Maximum size of a PDF document. Images have a lower limit, because model vendors refuse a request with a larger
 * image.
 */
const MAX_BLOB_BYTES = 5 * 1024 * 1024;
/**
 * Maximum total size of the files that one message adds. If a file exceeds this size, a text is shortened, and an image
 * or document is left out.
 */
const MAX_TOTAL_BYTES = 12 * 1024 * 1024;
const MAX_MENTIONS = 50;
/** Maximum number of entries of a folder that are listed. */
const MAX_ENTRIES = 200;
/** Maximum number of entries of a folder that are read. */
const MAX_SCANNED = 10_000;

/** The tools whose policy rules apply to files and to folders. */
const READ: Subject = { name: 'read_file', effect: 'read' };
const LIST: Subject = { name: 'list_directory', effect: 'read' };

/** Decides which files a message may add. */
export interface FileAccess {
  readonly policy: Policy;
  /**
   * Whether the sender may approve calls. If true, a file is added even if a rule requires an approval, because the
   * sender has named the file.
   */
  readonly mayApprove: boolean;
}

export interface Context {
  readonly parts: readonly ContentPart[];
  /** One line for each file that could not be added. The model gets these lines. */
  readonly problems: readonly string[];
}

/** Returns the content of a message, with the files that the message mentions or contains. */
export async function messageContext(
  received: readonly A2APart[],
  workspace: Workspace,
  access: FileAccess,
  signal?: AbortSignal,
): Promise<Context> {
  const collector = createCollector(workspace, access, signal);
  const said: ContentPart[] = [];
  for (const each of received) {
    // An invalid part is left out.
    const [part] = fromA2AParts([each]);
    if (!part) continue;
    switch (part.kind) {
      case 'text':
      case 'thought':
        // A client cannot add thoughts of the agent, so a part that is marked as a thought is treated as text.
        if (isQuoted(each)) {
          said.push({ kind: 'text', text: part.text });
          break;
        }
        said.push({ kind: 'text', text: part.text.replaceAll('\\@', '@') });
        for (const mention of mentionsIn(part.text)) await collector.mention(mention);
        break;
      case 'blob': {
        const name = part.name === undefined ? 'an attached file' : onOneLine(part.name);
        collector.add(name, Buffer.from(part.data, 'base64'));
        break;
      }
      case 'file':
        await collector.address(part.uri, part.name);
        break;
      case 'data':
        said.push(part);
    }
  }
  return { parts: [...said, ...collector.parts], problems: collector.problems };
}

const MENTION = /(?<=^|[\s([{<,;:"'`])@(?:"([^"\n]{1,1024})"|((?:\\.|[^\s\\]){1,1024}))/gu;

/** Returns the names that a text mentions, unescaped and without duplicates, at most MAX_MENTIONS. */
export function mentionsIn(text: string): string[] {
  const mentions = Array.from(text.matchAll(MENTION), ([, quoted, plain]) =>
    quoted === undefined ? plain!.replaceAll(/\\(.)/gu, '$1') : quoted,
  );
  return [...new Set(mentions)].slice(0, MAX_MENTIONS);
}

/**
 * Returns the possible file names in a mention, longest first. Punctuation may follow the name, as in `see @a.ts.`,
 * `(@a.ts),` or `@a.ts's`.
 */
function readings(mention: string): string[] {
  const closing = /(?:[.,;:!?)\]}>"'`…]+|['’]s)$/u.exec(mention)?.[0] ?? '';
  const names = Array.from({ length: closing.length + 1 }, (_, count) =>
    mention.slice(0, mention.length - count),
  );
  return names.filter((name) => name !== '');
}

function createCollector(
  workspace: Workspace,
  { policy, mayApprove }: FileAccess,
  signal: AbortSignal | undefined,
) {
  const parts: ContentPart[] = [];
  const problems: string[] = [];
  const seen = new Set<string>();
  /** The filters of the two tools. A filter is undefined if no rule protects a file or folder from the tool. */
  const filters = new Map(
    [READ, LIST].map((tool) => [tool, resultFilter(policy, tool, mayApprove ? 'all' : 'none')]),
  );
  let left = MAX_TOTAL_BYTES;

  function addText(name: string, text: string, size: number): void {
    const shown = cutText(text, Math.min(MAX_TEXT_BYTES, left));
    left -= Buffer.byteLength(shown);
    const whole = shown.length === text.length && size <= MAX_TEXT_BYTES;
    const end = whole
      ? `[End of ${name}]`
      : `[${name} continues: its total size is ${sizeOf(size)}]`;
    const line = shown.endsWith('\n') || shown === '' ? '' : '\n';
    parts.push({ kind: 'text', text: `[File ${name}]\n${shown}${line}${end}` });
  }

  /** Adds a file. `bytes` are its first bytes, and `size` is the size of the whole file. */
  function add(name: string, bytes: Buffer, size: number = bytes.length): void {
    const kind = binaryKind(bytes);
    const mediaType = kind === 'PDF document' ? 'application/pdf' : imageType(bytes);
    if (kind === undefined) {
      addText(name, bytes.subarray(0, MAX_TEXT_BYTES).toString('utf8'), size);
    } else if (mediaType === undefined) {
      parts.push({ kind: 'text', text: `[File ${name}: ${kind}, ${sizeOf(size)}, not shown]` });
    } else if (size > Math.min(kind === 'PDF document' ? MAX_BLOB_BYTES : MAX_IMAGE_BYTES, left)) {
      problems.push(`${name} was left out, because it is too large (${sizeOf(size)})`);
      parts.push({ kind: 'text', text: `[File ${name}: ${kind}, ${sizeOf(size)}, too large]` });
    } else {
      left -= size;
      parts.push({ kind: 'text', text: `[File ${name}]` });
      parts.push({ kind: 'blob', mediaType, data: bytes.toString('base64'), name });
    }
  }

  /**
   * Throws if a rule protects a file or folder. `path` is its name in the message, and `real` contains its real path if
   * this path is known. Also called before the file is opened, so that the error does not reveal whether the file
   * exists.
   */
  function check(tool: Subject, path: string, real: readonly string[] = []): void {
    if (!filters.get(tool)) return;
    const file = workspace.locate(path);
    const { decision, reason } = decide(policy, tool, { path: file }, undefined, real);
    if (decision === 'allow' || (decision === 'ask' && mayApprove)) return;
    const who = decision === 'ask' ? ', and the sender of the message may not approve calls' : '';
    throw new FileError('protected', `${workspace.show(file)} was left out: ${reason}${who}`);
  }

  async function addFile(path: string): Promise<void> {
    check(READ, path);
    await using file = await workspace.openFile(path);
    check(READ, path, [file.path]);
    if (seen.has(file.path)) return;
    seen.add(file.path);
    const { size } = file;
    const buffer = Buffer.alloc(Math.min(size, MAX_BLOB_BYTES));
    const { bytesRead } = await file.handle.read(buffer, 0, buffer.length, 0);
    add(workspace.show(file.path), buffer.subarray(0, bytesRead), size);
  }

  async function addFolder(path: string): Promise<void> {
    check(LIST, path);
    await using folder = await workspace.openFolder(path);
    check(LIST, path, [folder.path]);
    if (seen.has(folder.path)) return;
    seen.add(folder.path);
    const shows = filters.get(LIST);
    const names: string[] = [];
    for await (const entry of await opendir(folder.self)) {
      if (entry.name !== '.git') names.push(entry.isDirectory() ? `${entry.name}/` : entry.name);
      if (names.length >= MAX_SCANNED) break;
    }
    const name = workspace.show(folder.path);
    const allowed = names.filter((each) => shows?.(join(folder.path, each)) !== false);
    const shown = allowed.toSorted().slice(0, MAX_ENTRIES);
    const more =
      allowed.length > shown.length ? `\n[and ${allowed.length - shown.length} more]` : '';
    const list = shown.length === 0 && !shows ? '[empty]' : shown.join('\n');
    const note = shows ? `\n${LEFT_OUT}` : '';
    parts.push({ kind: 'text', text: `[Folder ${name}]\n${list}${more}${note}` });
  }

  /** Adds a file or a folder. Returns false if it does not exist or if the path is invalid. */
  async function open(path: string): Promise<boolean> {
    signal?.throwIfAborted();
    try {
      await addFile(path);
      return true;
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      if (error.code === 'not-found' || error.code === 'bad-path') return false;
      if (error.code !== 'wrong-kind') throw error;
    }
    await addFolder(path);
    return true;
  }

  async function reportingErrors(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      problems.push(error.message);
    }
  }

  return {
    parts,
    problems,
    add,
    mention: (mention: string) =>
      reportingErrors(async () => {
        for (const name of readings(mention)) if (await open(name)) return;
      }),
    address: (uri: string, name: string | undefined) =>
      reportingErrors(async () => {
        if (URL.parse(uri)?.protocol !== 'file:') {
          const called = name === undefined ? '' : ` ${onOneLine(name)}`;
          parts.push({ kind: 'text', text: `[File${called} at ${onOneLine(uri)}, not fetched]` });
          return;
        }
        const path = localPath(uri);
        if (path === undefined || !(await open(path))) {
          throw new FileError('not-found', `${onOneLine(uri)} does not exist`);
        }
      }),
  };
}

/** Returns a client's file name or URI on one line, so that the model cannot mistake it for other text. */
function onOneLine(name: string): string {
  return cutText(name, 2048).replaceAll(/\s+/g, ' ');
}

function localPath(uri: string): string | undefined {
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined;
  }
}
