/** Lines in a frame, with a title in its upper edge and what can be done in its lower one. */
import { fit, line, lineWidth, span, type Line, type Tone } from '../text/span.ts';

export interface Frame {
  readonly title: Line;
  /** At the right of the upper edge. */
  readonly note?: string;
  readonly keys: string;
  readonly tone: Tone;
}

export function box(lines: readonly Line[], width: number, frame: Frame): Line[] {
  const inner = width - 4;
  const { tone, note = '', keys } = frame;
  const side = span('│', tone);
  return [
    edge('╭', frame.title, line(note, 'dim'), '╮', width, tone),
    ...lines.map((each): Line => {
      const text = fit(each, inner);
      return [side, span(' '), ...text, span(' '.repeat(inner - lineWidth(text) + 1)), side];
    }),
    edge('╰', line(keys, 'dim'), [], '╯', width, tone),
  ];
}

function edge(start: string, text: Line, note: Line, end: string, width: number, tone: Tone): Line {
  const right: Line = note.length > 0 ? [span(' '), ...note, span(' ─', tone)] : [];
  const room = width - 5 - lineWidth(right);
  const shown = fit(text, Math.max(0, room - 1));
  const left: Line = shown.length > 0 ? [span(' '), ...shown, span(' ')] : [];
  const rule = '─'.repeat(Math.max(0, width - 3 - lineWidth(left) - lineWidth(right)));
  return [span(`${start}─`, tone), ...left, span(rule, tone), ...right, span(end, tone)];
}
