/** Draws a tool call: its title and status, and below them the first lines of its output. */
import type { ToolCall } from '../../protocol/development-tool/index.ts';
import { isQuestion, type CallEntry } from '../state/entry.ts';
import {
  cut,
  EMPTY,
  fit,
  gutter,
  line,
  span,
  wrap,
  wrapText,
  type StyledLine,
  type Tone,
} from '../text/styled-line.ts';
import { clean, cleanLine, revealsLine } from '../text/width.ts';
import type { View } from './view.ts';
import { helperSpans, nameOf } from './who.ts';

const MAX_OUTPUT_LINES = 6;
const MAX_LIVE_LINES = 8;
const MAX_DIFF_LINES = 24;
/** Maximum length of an output. Longer output is truncated before it is cleaned and split into lines. */
const MAX_CHARS = 20_000;

/** The text for a call that waits until the calls before it have ended. */
const WAITS = 'waiting for its turn';

interface CallStatus {
  readonly sign: string;
  readonly word: string;
  readonly tone: Tone;
}

export function callLines(entry: CallEntry, view: View): StyledLine[] {
  const { call, decision } = entry;
  const { width, plain } = view;
  const { sign, word, tone } = statusOfCall(entry, view);
  const body = bodyLines(call, view);
  const head: StyledLine = [
    ...helperSpans(call),
    span(isForm(entry) ? firstLine(call) : titleOf(call), { bold: !plain }),
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
    // The line above already shows that the person declined the call, and why.
    ...(chosen !== undefined && call.error?.type === 'declined' ? [] : body.lines),
  ];
  if (plain) return [[span(`Tool, ${word}: `), ...head], ...below];
  const bar = line('│ ', 'faint');
  return [
    ...gutter(wrap(head, width - 2), line(`${sign} `, tone), line('  ')),
    ...gutter(below, [span('  '), ...bar], [span('  '), ...bar]),
  ];
}

function statusOfCall({ call, stopped, decision }: CallEntry, { spinner }: View): CallStatus {
  if (stopped === true || call.error?.type === 'stopped') {
    return { sign: '⊘', word: 'stopped', tone: 'dim' };
  }
  switch (call.status) {
    case 'SUCCEEDED':
      return { sign: '✓', word: 'done', tone: 'good' };
    case 'FAILED':
      return { sign: '✗', word: 'failed', tone: 'bad' };
    case 'CANCELLED':
      return { sign: '⊘', word: 'declined', tone: 'warning' };
    case 'PENDING':
      if (call.confirmation_request && !decision) {
        return { sign: '?', word: 'waiting for an answer', tone: 'warning' };
      }
      if (!call.confirmation_request) return { sign: '·', word: WAITS, tone: 'dim' };
      return { sign: spinner, word: 'starting', tone: 'accent' };
    default:
      return { sign: spinner, word: 'running', tone: 'accent' };
  }
}

/** Returns a title of one line for the call. */
export function titleOf(call: ToolCall): string {
  const told = revealsLine(call.description ?? '');
  if (told !== '') return told;
  const args = revealsLine(JSON.stringify(call.input_parameters));
  const name = revealsLine(call.tool_name);
  return args === '{}' ? name : `${name} ${args}`;
}

/**
 * Returns whether the call is a question of several lines, for example a form of an MCP server. Its dialog shows all
 * lines.
 */
function isForm(entry: CallEntry): boolean {
  const { tool_name: name, description = '' } = entry.call;
  return (name === 'elicitation' || isQuestion(entry)) && description.trim().includes('\n');
}

function firstLine({ description = '' }: ToolCall): string {
  return `${revealsLine(description.trim().split('\n', 1)[0] ?? '')} …`;
}

interface Body {
  readonly lines: readonly StyledLine[];
  /** A summary at the end of the first line, for example `+3 −1`. */
  readonly summary: StyledLine;
}

function bodyLines(call: ToolCall, { width, renderers }: View): Body {
  const room = width - 4;
  const { output, error, live_content: live, status } = call;
  if (status === 'EXECUTING' && live !== undefined) {
    return text(live.slice(-MAX_CHARS), room, MAX_LIVE_LINES, 'dim', 'last');
  }
  if (error && (error.type === 'exit_code' || error.type === 'timeout')) {
    // The first line describes how the command ended. The reason is usually at the end of the output.
    const [end = '', ...rest] = error.message.split('\n');
    const { lines } = text(
      rest.join('\n').slice(-MAX_CHARS),
      room,
      MAX_OUTPUT_LINES,
      'dim',
      'last',
    );
    return { lines, summary: line(cleanLine(end), 'bad') };
  }
  if (error) {
    return text(error.message, room, MAX_OUTPUT_LINES, status === 'FAILED' ? 'bad' : 'dim');
  }
  if (output?.diff) {
    const diff = renderers.diffLines(output.diff, room);
    return { lines: cut(diff.lines, MAX_DIFF_LINES), summary: renderers.summary(diff) };
  }
  if (output?.text !== undefined) return text(output.text, room, MAX_OUTPUT_LINES, 'dim');
  if (output?.structured_data) {
    const shown = JSON.stringify(output.structured_data).slice(0, MAX_CHARS);
    return { lines: [fit(line(cleanLine(shown), 'dim'), room)], summary: EMPTY };
  }
  return { lines: [], summary: EMPTY };
}

function text(
  shown: string,
  width: number,
  max: number,
  tone: Tone,
  keep: 'first' | 'last' = 'first',
): Body {
  const part = keep === 'last' ? shown : shown.slice(0, MAX_CHARS);
  const cleaned = clean(part).trimEnd();
  if (cleaned === '') return { lines: [], summary: EMPTY };
  // Long lines are truncated, not wrapped, so that the output keeps its shape.
  const lines = cleaned.split('\n').map((each) => fit(line(each, tone), width));
  return { lines: cut(lines, max, keep), summary: EMPTY };
}

/** Returns the complete output of a call, for the pane. */
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
