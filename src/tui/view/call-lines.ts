/** Draws a tool call: its title and status, and below them the first or the last lines of its output. */
import {
  bodyOfCall,
  clean,
  cleanLine,
  EMPTY,
  line,
  nameOf,
  span,
  statusOfCall,
  titleInHistory,
  WAITS,
  type CallEntry,
  type StyledLine,
  type Tone,
} from '../../display/index.ts';
import { cut, fit, gutter, wrap, wrapText } from '../text/styled-line.ts';
import type { View } from './view.ts';
import { helperSpans } from './who.ts';

const MAX_OUTPUT_LINES = 6;
const MAX_LIVE_LINES = 8;
const MAX_DIFF_LINES = 24;
/** Maximum length of an output. Longer output is truncated before it is cleaned and split into lines. */
const MAX_CHARS = 20_000;

export function callLines(entry: CallEntry, view: View): StyledLine[] {
  const { call, decision } = entry;
  const { width, plain } = view;
  const { sign = view.spinner, word, tone } = statusOfCall(entry);
  const body = bodyLines(entry, view);
  const head: StyledLine = [
    ...helperSpans(call),
    span(titleInHistory(entry), { bold: !plain }),
    ...(body.summary.length > 0 ? [span('  '), ...body.summary] : []),
    ...(entry.stopped === true ? [span('  stopped', 'dim')] : []),
    ...(word === WAITS && !plain ? [span(`  ${WAITS}`, 'dim')] : []),
  ];
  const who = nameOf(decision?.by, view);
  const chosen = decision && (who === undefined ? decision.option : `${who}: ${decision.option}`);
  const below = [
    ...(chosen === undefined
      ? []
      : wrap(line(`↳ ${cleanLine(chosen)}`, who === undefined ? 'dim' : 'other'), width - 4)),
    ...body.lines,
  ];
  if (plain) return [[span(`Tool, ${word}: `), ...head], ...below];
  const bar = line('│ ', 'faint');
  return [
    ...gutter(wrap(head, width - 2), line(`${sign} `, tone), line('  ')),
    ...gutter(below, [span('  '), ...bar], [span('  '), ...bar]),
  ];
}

interface Body {
  readonly lines: readonly StyledLine[];
  /** A summary at the end of the first line, for example `+3 −1`. */
  readonly summary: StyledLine;
}

function bodyLines(entry: CallEntry, { width, renderers }: View): Body {
  const room = width - 4;
  const body = bodyOfCall(entry);
  if (!body) return { lines: [], summary: EMPTY };
  if (body.kind === 'diff') {
    const diff = renderers.diffLines(body.diff, room);
    return { lines: cut(diff.lines, MAX_DIFF_LINES), summary: renderers.summary(diff) };
  }
  const { text, tone, keep, summary = '' } = body;
  if (body.kind === 'data') {
    const shown = cleanLine(text.slice(0, MAX_CHARS));
    return { lines: [fit(line(shown, tone), room)], summary: EMPTY };
  }
  const part = keep === 'last' ? text.slice(-MAX_CHARS) : text.slice(0, MAX_CHARS);
  const max = body.kind === 'live' ? MAX_LIVE_LINES : MAX_OUTPUT_LINES;
  return { lines: textLines(part, room, max, tone, keep), summary: line(summary, 'bad') };
}

function textLines(
  text: string,
  width: number,
  max: number,
  tone: Tone,
  keep: 'first' | 'last',
): StyledLine[] {
  const cleaned = clean(text).trimEnd();
  if (cleaned === '') return [];
  // Long lines are truncated, not wrapped, so that the output keeps its shape.
  const lines = cleaned.split('\n').map((each) => fit(line(each, tone), width));
  return cut(lines, max, keep);
}

/**
 * Returns the complete output of a call, for the pane. If the call has no diff and no text, returns the first of these
 * parts that exists: the error, the output so far, the structured data, the arguments.
 */
export function wholeCall({ call }: CallEntry, view: View): StyledLine[] {
  const { output, error, live_content: live } = call;
  if (output?.diff) return [...view.renderers.diffLines(output.diff, view.width).lines];
  const shown =
    output?.text ??
    error?.message ??
    live ??
    JSON.stringify(output?.structured_data ?? call.input_parameters, null, 2);
  return wrapText(shown, view.width);
}
