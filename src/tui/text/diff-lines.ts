/** Draws a file change. Each line has its number, a sign (`+` or `-`) and its text. */
import { structuredPatch } from 'diff';
import type { FileDiff } from '../../protocol/development-tool/index.ts';
import { patchLine } from './highlight.ts';
import { EMPTY, gutter, line, span, wrap, type StyledLine, type Tone } from './styled-line.ts';
import { clean } from './width.ts';

/** Limits for computing a diff. If a limit is exceeded, the server's formatted diff is shown instead. */
const MAX_EDITS = 1500;
const MAX_MS = 200;
const MAX_CHARS = 2_000_000;
const CONTEXT = 3;

export interface DiffLines {
  readonly added: number;
  readonly removed: number;
  readonly lines: readonly StyledLine[];
}

export function diffLines(diff: FileDiff, width: number): DiffLines {
  const before = diff.old_content ?? '';
  const after = diff.new_content;
  const small = before.length + after.length <= MAX_CHARS;
  const patch = small
    ? structuredPatch('', '', clean(before), clean(after), '', '', {
        context: CONTEXT,
        maxEditLength: MAX_EDITS,
        timeout: MAX_MS,
      })
    : undefined;
  if (!patch) return formatted(diff, width);

  let added = 0;
  let removed = 0;
  const lines: StyledLine[] = [];
  const last = patch.hunks.at(-1);
  const digits = String(
    last ? Math.max(last.oldStart + last.oldLines, last.newStart + last.newLines) : 1,
  ).length;
  for (const [index, hunk] of patch.hunks.entries()) {
    if (index > 0) lines.push(line(`${' '.repeat(digits)} ⋮`, 'faint'));
    let [old, now] = [hunk.oldStart, hunk.newStart];
    for (const text of hunk.lines) {
      const sign = text[0] ?? ' ';
      if (sign === '\\') continue;
      if (sign === '+') added += 1;
      if (sign === '-') removed += 1;
      const number = sign === '-' ? old : now;
      if (sign !== '+') old += 1;
      if (sign !== '-') now += 1;
      lines.push(...changedLine(text.slice(1), sign, String(number).padStart(digits), width));
    }
  }
  return { added, removed, lines };
}

const TONES: Readonly<Record<string, Tone>> = { '+': 'added', '-': 'removed' };

function changedLine(text: string, sign: string, number: string, width: number): StyledLine[] {
  const tone = TONES[sign] ?? 'dim';
  const taken = number.length + 3;
  const lines = wrap(line(text, tone), width - taken);
  const first = [span(`${number} `, 'faint'), span(`${sign} `, tone)];
  return gutter(lines, first, line(' '.repeat(taken)));
}

function formatted({ formatted_diff: text, new_content }: FileDiff, width: number): DiffLines {
  const all = clean(text ?? new_content).split('\n');
  return {
    added: text === undefined ? all.length : count(all, /^\+(?!\+\+)/),
    removed: text === undefined ? 0 : count(all, /^-(?!--)/),
    lines: all.flatMap((each) => wrap(patchLine(each), width)),
  };
}

function count(lines: readonly string[], pattern: RegExp): number {
  return lines.filter((each) => pattern.test(each)).length;
}

export function summary({ added, removed }: DiffLines): StyledLine {
  const parts = [
    ...(added > 0 ? [span(`+${added}`, 'added')] : []),
    ...(added > 0 && removed > 0 ? [span(' ')] : []),
    ...(removed > 0 ? [span(`−${removed}`, 'removed')] : []),
  ];
  return parts.length > 0 ? parts : EMPTY;
}
