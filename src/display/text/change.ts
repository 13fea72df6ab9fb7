/**
 * The lines of a file change, safe to show. If the diff is computed here, each line has its number and its kind (added,
 * removed or unchanged).
 */
import { structuredPatch } from 'diff';
import type { FileDiff } from '../../protocol/development-tool/index.ts';
import {
  headerNotes,
  isShortened,
  isWithoutDiff,
  leavesOut,
} from '../../protocol/schema-free/index.ts';
import { reveals } from './clean.ts';

/** Limits for computing a diff. If a limit is exceeded, the lines come from `formatted` instead. */
const MAX_EDITS = 1500;
const MAX_MS = 200;
const MAX_CHARS = 2_000_000;
const CONTEXT = 3;
/**
 * Replaces each tab in a removed and an added line that would look the same if their tabs were drawn as spaces.
 */
const TAB_MARK = '→   ';

export type ChangedLine =
  /** An added, removed or unchanged line, with its number. */
  | { readonly kind: '+' | '-' | ' '; readonly number: number; readonly text: string }
  /** Unchanged lines that are left out. */
  | { readonly kind: 'gap' }
  | { readonly kind: 'note'; readonly text: string }
  /** A line of the server's formatted diff or of its header, or a `+` followed by a line of the new content. */
  | { readonly kind: 'patch'; readonly text: string };

export interface FileChange {
  readonly added: number;
  readonly removed: number;
  /** Whether the lines contain the whole change. */
  readonly complete: boolean;
  readonly lines: readonly ChangedLine[];
}

/** Returns the lines of a change, with up to `context` unchanged lines before and after each changed line. */
export function changeOf(diff: FileDiff, context = CONTEXT): FileChange {
  const [before, after] = visibleEnds(diff.old_content ?? '', diff.new_content);
  const small = before.length + after.length <= MAX_CHARS;
  const patch =
    small && !isShortened(before) && !isShortened(after)
      ? structuredPatch('', '', before, after, '', '', {
          context,
          maxEditLength: MAX_EDITS,
          timeout: MAX_MS,
        })
      : undefined;
  if (!patch) return formatted(diff);

  let added = 0;
  let removed = 0;
  const lines = headerNotes(diff.formatted_diff).map(revealed);
  for (const [index, hunk] of patch.hunks.entries()) {
    if (index > 0) lines.push({ kind: 'gap' });
    let [old, now] = [hunk.oldStart, hunk.newStart];
    const same = sameLooks(hunk.lines);
    for (const text of hunk.lines) {
      const [kind = ' '] = text;
      if (kind !== '+' && kind !== '-' && kind !== ' ') continue;
      if (kind === '+') added += 1;
      if (kind === '-') removed += 1;
      const number = kind === '-' ? old : now;
      if (kind !== '+') old += 1;
      if (kind !== '-') now += 1;
      const shown = same.has(reveals(text.slice(1))) ? text.replaceAll('\t', TAB_MARK) : text;
      lines.push({ kind, number, text: reveals(shown.slice(1)) });
    }
  }
  return { added, removed, lines, complete: true };
}

/** Returns the texts that a removed and an added line have in common when their tabs are drawn as spaces. */
function sameLooks(lines: readonly string[]): ReadonlySet<string> {
  const looks = (sign: string): string[] =>
    lines.filter((each) => each[0] === sign).map((each) => reveals(each.slice(1)));
  const removed = new Set(looks('-'));
  return new Set(looks('+').filter((each) => removed.has(each)));
}

/**
 * Removes the carriage returns if all line breaks of both texts are CRLF. Otherwise, the carriage returns stay visible,
 * because the line breaks differ.
 */
function visibleEnds(before: string, after: string): readonly [string, string] {
  if (/(?<!\r)\n/.test(before) || /(?<!\r)\n/.test(after)) return [before, after];
  return [before.replaceAll('\r\n', '\n'), after.replaceAll('\r\n', '\n')];
}

interface LargeChange {
  /** The server's diff if `kind` is `diff`, otherwise the new content. */
  readonly text: string;
  readonly kind: 'diff' | 'content';
  /** Other changes, such as a new mode of the file. Empty if `kind` is `diff`, because the diff contains them. */
  readonly notes: readonly string[];
  /** Whether the text contains the whole change. The server leaves out a part of a very large change. */
  readonly complete: boolean;
}

/**
 * Returns how a file change is shown without a comparison of its lines: as the server's diff or as the new content. The
 * new content is shown if the server has sent no diff, or only a note that there are too many differences.
 */
export function largeChange({ formatted_diff: diff = '', new_content }: FileDiff): LargeChange {
  const whole = !isShortened(new_content);
  return diff === '' || isWithoutDiff(diff)
    ? { text: new_content, kind: 'content', notes: headerNotes(diff), complete: whole }
    : { text: diff, kind: 'diff', notes: [], complete: whole && !leavesOut(diff) };
}

/** Returns the line above the new content of a file. `complete` is false if a part of the content is left out. */
export function contentNote(complete: boolean): string {
  return `${complete ? 'The whole new content' : 'The new content'}, which replaces the old content:`;
}

/** Returns the lines of a change that is shown without a comparison. */
function formatted(diff: FileDiff): FileChange {
  const { text, kind, notes, complete } = largeChange(diff);
  if (kind === 'diff') {
    const all = reveals(text).split('\n');
    const [added, removed] = [count(all, /^\+(?!\+\+)/), count(all, /^-(?!--)/)];
    return { added, removed, complete, lines: all.map((each) => ({ kind: 'patch', text: each })) };
  }
  const all = reveals(text).replace(/\n$/, '').split('\n');
  const note = { kind: 'note', text: contentNote(complete) } as const;
  const lines: ChangedLine[] = [...notes.map(revealed), note];
  for (const each of all) lines.push({ kind: 'patch', text: `+${each}` });
  return { added: all.length, removed: 0, complete, lines };
}

/** Returns the line for a header line of the server's diff, such as a new path or a new mode. */
function revealed(text: string): ChangedLine {
  return { kind: 'patch', text: reveals(text) };
}

function count(lines: readonly string[], pattern: RegExp): number {
  return lines.filter((each) => pattern.test(each)).length;
}
