/** Draws a file change. A compared line has its number, a sign (`+`, `-` or a space) and its text. */
import type { FileDiff } from '../../protocol/development-tool/index.ts';
import { changeOf, patchLine, type FileChange } from '../../display/text/index.ts';
import { EMPTY, line, span, type StyledLine, type Tone } from '../../display/index.ts';
import { gutter, wrap } from './styled-line.ts';

export interface DiffLines extends Omit<FileChange, 'lines'> {
  readonly lines: readonly StyledLine[];
}

/** Draws a change with up to `context` unchanged lines before and after each changed line. */
export function diffLines(diff: FileDiff, width: number, context?: number): DiffLines {
  const change = changeOf(diff, context);
  const widest = change.lines.reduce(
    (most, each) => ('number' in each ? Math.max(most, each.number) : most),
    1,
  );
  const digits = String(widest).length;
  const lines = change.lines.flatMap((each) => {
    switch (each.kind) {
      case 'gap':
        return [line(`${' '.repeat(digits)} ⋮`, 'faint')];
      case 'note':
        return wrap(line(each.text, 'dim'), width);
      case 'patch':
        return wrap(patchLine(each.text), width);
      default:
        return changedLine(each.text, each.kind, String(each.number).padStart(digits), width);
    }
  });
  return { ...change, lines };
}

const TONES: Readonly<Record<string, Tone>> = { '+': 'added', '-': 'removed' };

function changedLine(text: string, sign: string, number: string, width: number): StyledLine[] {
  const tone = TONES[sign] ?? 'dim';
  const taken = number.length + 3;
  const lines = wrap(line(text, tone), width - taken);
  const first = [span(`${number} `, 'faint'), span(`${sign} `, tone)];
  return gutter(lines, first, line(' '.repeat(taken)));
}

export function summary({ added, removed }: DiffLines): StyledLine {
  const parts = [
    ...(added > 0 ? [span(`+${added}`, 'added')] : []),
    ...(added > 0 && removed > 0 ? [span(' ')] : []),
    ...(removed > 0 ? [span(`−${removed}`, 'removed')] : []),
  ];
  return parts.length > 0 ? parts : EMPTY;
}
