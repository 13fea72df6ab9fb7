/**
 * Unified diffs, plain and git's.
 *
 * The numbers in a hunk's head say where it should be and how long it is. Models miscount: a hunk ends where its lines
 * end, and the numbers settle only what would be in doubt (whether `--- x` is a removed line or the next file's head).
 */
import { badPatch, type FilePatch, type Hunk, type HunkLine } from './patch.ts';

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const NO_NEWLINE = /^\\ /;

/** The patch, and how far it has been read. */
interface Reader {
  readonly lines: readonly string[];
  at: number;
}

/** What the lines before the hunks say. */
interface Head {
  old?: string;
  next?: string;
  renamed?: { from?: string; to?: string };
  created?: boolean;
  deleted?: boolean;
  executable?: boolean;
}

export function parseUnifiedDiff(lines: readonly string[]): FilePatch[] {
  const reader: Reader = { lines, at: 0 };
  const files: FilePatch[] = [];
  while (reader.at < lines.length) {
    const head = readHead(reader);
    if (head === undefined) break;
    const hunks: Hunk[] = [];
    while (lines[reader.at]?.startsWith('@@') === true) hunks.push(readHunk(reader, hunks.length));
    files.push(filePatch(head, hunks));
  }
  return files;
}

/** Reads up to the first hunk, or up to the next file when there is none; undefined at the end of the patch. */
function readHead(reader: Reader): Head | undefined {
  const head: Head = {};
  let begun = false;
  let named = false;
  for (; reader.at < reader.lines.length; reader.at += 1) {
    const line = reader.lines[reader.at] ?? '';
    if (line.startsWith('@@')) {
      if (head.old === undefined) throw badPatch('has a hunk before the first --- and +++ lines');
      return head;
    }
    if (line.startsWith('diff --git ')) {
      if (begun) return head;
      begun = true;
      // Only where nothing else names the file: an empty one, or a change of mode.
      const names = /^diff --git a\/(.+) b\/(.+)$/.exec(line);
      if (names?.[1] !== undefined && names[1] === names[2]) {
        head.old = `a/${names[1]}`;
        head.next = `b/${names[2]}`;
      }
    } else if (startsFile(reader)) {
      if (named) return head;
      begun = true;
      named = true;
      head.old = nameIn(line.slice(4));
      head.next = nameIn((reader.lines[reader.at + 1] ?? '').slice(4));
      reader.at += 1;
    } else if (begun) {
      readGitHeader(line, head);
    }
  }
  return begun ? head : undefined;
}

function startsFile({ lines, at }: Reader): boolean {
  return lines[at]?.startsWith('--- ') === true && lines[at + 1]?.startsWith('+++ ') === true;
}

function readGitHeader(line: string, head: Head): void {
  const rename = /^rename (from|to) (.+)$/.exec(line);
  const mode = /^(?:new file mode|new mode|deleted file mode) (\d{6})$/.exec(line)?.[1];
  if (rename !== null) {
    head.renamed = {
      ...head.renamed,
      [rename[1] === 'from' ? 'from' : 'to']: nameIn(rename[2] ?? ''),
    };
  } else if (mode !== undefined) {
    if (mode !== '100644' && mode !== '100755') {
      throw badPatch(`makes something of mode ${mode}; only files can be patched, no links`);
    }
    if (line.startsWith('deleted')) head.deleted = true;
    else head.executable = mode === '100755';
    if (line.startsWith('new file')) head.created = true;
  } else if (line.startsWith('copy from ')) {
    throw badPatch('copies a file; write the copy as a new file');
  } else if (line.startsWith('GIT binary patch') || /^Binary files .* differ$/.test(line)) {
    throw badPatch('changes a binary file');
  }
}

function readHunk(reader: Reader, index: number): Hunk {
  const title = reader.lines[reader.at] ?? '';
  const numbers = HUNK.exec(title);
  const name = `hunk ${index + 1} (${title.slice(0, 60)})`;
  reader.at += 1;
  let oldLeft = numbers === null ? 0 : Number(numbers[2] ?? 1);
  let newLeft = numbers === null ? 0 : Number(numbers[4] ?? 1);
  const lines: HunkLine[] = [];
  let newlineAtEnd: boolean | undefined;
  for (; reader.at < reader.lines.length; reader.at += 1) {
    const line = reader.lines[reader.at] ?? '';
    const counted = oldLeft > 0 || newLeft > 0;
    if (NO_NEWLINE.test(line)) {
      // It speaks of the line before. Where only the old file lacks the line feed, the new one gets it.
      newlineAtEnd = lines.at(-1)?.kind === 'remove';
      continue;
    }
    if (line.startsWith('@@') || line.startsWith('diff --git ')) break;
    if (!counted && !goesOn(reader)) break;
    if (line === '') {
      // An empty line of the file that lost its blank; at the end of the patch it is none.
      if (reader.lines.slice(reader.at).every((rest) => rest === '')) break;
      lines.push({ kind: 'keep', text: '' });
      oldLeft -= 1;
      newLeft -= 1;
    } else if (line.startsWith(' ')) {
      lines.push({ kind: 'keep', text: line.slice(1) });
      oldLeft -= 1;
      newLeft -= 1;
    } else if (line.startsWith('-')) {
      lines.push({ kind: 'remove', text: line.slice(1) });
      oldLeft -= 1;
    } else if (line.startsWith('+')) {
      lines.push({ kind: 'add', text: line.slice(1) });
      newLeft -= 1;
    } else {
      throw badPatch(
        `has a line in ${name} that begins with neither a blank, - nor +: ${JSON.stringify(line.slice(0, 100))}`,
      );
    }
  }
  if (lines.length === 0) throw badPatch(`has nothing in ${name}`);
  const start = Number(numbers?.[1] ?? 0);
  return {
    name,
    lines,
    // A hunk without old lines stands behind the line that its head names, any other begins with it.
    ...(numbers !== null && {
      after: Number(numbers[2] ?? 1) === 0 ? start : Math.max(0, start - 1),
    }),
    ...(newlineAtEnd !== undefined && { newlineAtEnd, atEnd: true }),
  };
}

/** Whether a hunk whose count is over has more lines all the same: the next that is not empty is one of a hunk. */
function goesOn({ lines, at }: Reader): boolean {
  const next = lines.findIndex((line, index) => index >= at && line !== '');
  const line = lines[next] ?? '';
  // `-- ` is the signature under a mailed patch.
  return /^[ +-]/.test(line) && line !== '-- ' && !startsFile({ lines, at: next });
}

function filePatch(head: Head, hunks: readonly Hunk[]): FilePatch {
  const [old, next] = stripped(head.old, head.next);
  const executable = head.executable === undefined ? {} : { executable: head.executable };
  const from = head.renamed?.from ?? old;
  const to = head.renamed?.to ?? next;
  if (from === undefined || to === undefined)
    throw badPatch('does not name its file in --- and +++');
  if (head.created === true || head.old === '/dev/null') {
    return { kind: 'add', path: to, hunks: asNewFile(hunks), ...executable };
  }
  if (head.deleted === true || head.next === '/dev/null') {
    return { kind: 'delete', path: from, hunks };
  }
  if (hunks.length === 0 && from === to && head.executable === undefined) {
    throw badPatch(`changes nothing in ${to}`);
  }
  return { kind: 'update', path: from, ...(from !== to && { moveTo: to }), hunks, ...executable };
}

/** A new file's last line ends with a line feed unless the patch says that it does not. */
function asNewFile(hunks: readonly Hunk[]): Hunk[] {
  return hunks.map((hunk) => ({ ...hunk, newlineAtEnd: hunk.newlineAtEnd ?? true }));
}

/** Without git's a/ and b/, where both have them. */
function stripped(old: string | undefined, next: string | undefined): (string | undefined)[] {
  const a = old === '/dev/null' || old?.startsWith('a/') === true;
  const b = next === '/dev/null' || next?.startsWith('b/') === true;
  if (!a || !b) return [old, next];
  return [old, next].map((name) => (name === '/dev/null' ? name : name?.slice(2)));
}

/** The name in a --- or +++ line: up to a tab and a date, and without git's quotes. */
function nameIn(field: string): string {
  const [name = ''] = field.split('\t');
  const trimmed = name.trimEnd();
  if (!trimmed.startsWith('"') || !trimmed.endsWith('"')) return trimmed;
  const bytes: number[] = [];
  for (const [whole, octal, escape] of trimmed
    .slice(1, -1)
    .matchAll(/\\([0-7]{3})|\\(.)|[^\\]/gsu)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else if (escape !== undefined) bytes.push(...Buffer.from(ESCAPES[escape] ?? escape));
    else bytes.push(...Buffer.from(whole));
  }
  return Buffer.from(bytes).toString();
}

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r' };
