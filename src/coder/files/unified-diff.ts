/**
 * Parses unified diffs, with and without the headers of git.
 *
 * The header of a hunk says where the hunk starts and how many lines it has. Models often miscount these lines. So a
 * hunk may have fewer lines than its header says, if another hunk, `diff --git` or the end of the patch follows. A hunk
 * may also have more lines. It then ends at the first line that cannot belong to a hunk.
 *
 * A line `--- x` may be a removed line or the header of the next file. While the hunk has fewer lines than its header
 * says, the line `--- x` counts as removed. After that, this line counts as a header if a `+++` line follows.
 */
import { badPatch, hunkLine, type FilePatch, type Hunk, type HunkLine } from './patch.ts';

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const NO_NEWLINE = /^\\ /;

/** The lines of the patch, and the current position. */
interface Reader {
  readonly lines: readonly string[];
  /**
   * For each line, the index of the first non-empty line at or after it. If there is no such line, the number of lines.
   */
  readonly nextText: readonly number[];
  at: number;
}

/** The header of a file. */
interface Head {
  old?: string;
  next?: string;
  /** The old and the new name of a renamed file. */
  from?: string;
  to?: string;
  created?: boolean;
  deleted?: boolean;
  executable?: boolean;
}

export function parseUnifiedDiff(lines: readonly string[]): FilePatch[] {
  const reader: Reader = { lines, nextText: nextTexts(lines), at: 0 };
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

function nextTexts(lines: readonly string[]): number[] {
  const next: number[] = [];
  let found = lines.length;
  for (let at = lines.length - 1; at >= 0; at -= 1) {
    if (lines[at] !== '') found = at;
    next.push(found);
  }
  return next.toReversed();
}

/**
 * Reads the header of a file, up to the first hunk. If the file has no hunks, reads up to the next file. Returns
 * undefined at the end of the patch.
 */
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
      // These names are used only if no other line contains the name of the file, as for an empty file or a change of
      // mode.
      const name = sameName(line.slice('diff --git '.length));
      if (name !== undefined) {
        head.old = `a/${name}`;
        head.next = `b/${name}`;
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

/** Returns the name in `a/NAME b/NAME`, or undefined if the names differ. The name may contain spaces. */
function sameName(names: string): string | undefined {
  const old = names.slice(0, (names.length - 1) / 2);
  return names === `${old} b${old.slice(1)}` && old.startsWith('a/') ? old.slice(2) : undefined;
}

function startsFile({ lines, at }: Pick<Reader, 'lines' | 'at'>): boolean {
  return lines[at]?.startsWith('--- ') === true && lines[at + 1]?.startsWith('+++ ') === true;
}

function readGitHeader(line: string, head: Head): void {
  const rename = /^rename (from|to) (.+)$/.exec(line);
  const mode = /^(?:new file mode|new mode|deleted file mode) (\d{6})$/.exec(line)?.[1];
  if (rename !== null) {
    head[rename[1] === 'from' ? 'from' : 'to'] = nameIn(rename[2] ?? '');
  } else if (mode !== undefined) {
    if (mode !== '100644' && mode !== '100755') {
      throw badPatch(`has the file mode ${mode}; only regular files can be patched, not links`);
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
      // This line refers to the previous line. If only the old file has no line feed at its end, the new file gets a
      // line feed.
      newlineAtEnd = lines.at(-1)?.kind === 'remove';
      continue;
    }
    if (line.startsWith('@@') || line.startsWith('diff --git ')) break;
    if (!counted && !continues(reader)) break;
    // Empty lines at the end of the patch do not belong to the file.
    if (reader.nextText[reader.at] === reader.lines.length) break;
    const parsed = hunkLine(line);
    if (parsed === undefined) {
      throw badPatch(
        `has a line in ${name} that does not start with a space, - or +: ${JSON.stringify(line.slice(0, 100))}`,
      );
    }
    lines.push(parsed);
    if (parsed.kind !== 'add') oldLeft -= 1;
    if (parsed.kind !== 'remove') newLeft -= 1;
  }
  if (lines.length === 0) throw badPatch(`has no lines in ${name}`);
  const start = Number(numbers?.[1] ?? 0);
  return {
    name,
    lines,
    // A hunk without old lines comes after the line whose number is in its header. Any other hunk starts with this
    // line.
    ...(numbers !== null && {
      after: Number(numbers[2] ?? 1) === 0 ? start : Math.max(0, start - 1),
    }),
    ...(newlineAtEnd !== undefined && { newlineAtEnd, atEnd: true }),
  };
}

/**
 * Returns whether a hunk has more lines than its header specifies. This is assumed if the next line that is not empty
 * looks like a line of a hunk.
 */
function continues({ lines, nextText, at }: Reader): boolean {
  const next = nextText[at] ?? lines.length;
  const line = lines[next] ?? '';
  // `-- ` starts the signature of a patch in an email.
  return /^[ +-]/.test(line) && line !== '-- ' && !startsFile({ lines, at: next });
}

function filePatch(head: Head, hunks: readonly Hunk[]): FilePatch {
  const [old, next] = stripped(head.old, head.next);
  const executable = head.executable === undefined ? {} : { executable: head.executable };
  const from = head.from ?? old;
  const to = head.to ?? next;
  if (from === undefined || to === undefined) throw badPatch('has no file name in --- and +++');
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

/** Returns the hunks of a new file. The file ends with a line feed, unless the patch marks it as a file without one. */
function asNewFile(hunks: readonly Hunk[]): Hunk[] {
  return hunks.map((hunk) => ({ ...hunk, newlineAtEnd: hunk.newlineAtEnd ?? true }));
}

/**
 * Removes the prefixes a/ and b/ of git from the names. Returns the names unchanged if one of them has no prefix and is
 * not `/dev/null`.
 */
function stripped(old: string | undefined, next: string | undefined): (string | undefined)[] {
  const a = old === '/dev/null' || old?.startsWith('a/') === true;
  const b = next === '/dev/null' || next?.startsWith('b/') === true;
  if (!a || !b) return [old, next];
  return [old, next].map((name) => (name === '/dev/null' ? name : name?.slice(2)));
}

/** Returns the name in a ---, +++ or rename line, without the date after a tab and without the quotes of git. */
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
