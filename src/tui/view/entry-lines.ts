/** Draws the entries of the history. */
import {
  EMPTY,
  line,
  span,
  splitLines,
  type StyledLine,
  clean,
  cleanLine,
  type Entry,
  type NoticeEntry,
  type PromptEntry,
  type TextEntry,
  type ThoughtEntry,
  bodyOfCall,
  nameOf,
  statusOfCall,
  titleInHistory,
  WAITS,
  type CallEntry,
  type Tone,
} from '../../display/index.ts';
import { cut, gutter, wrap, wrapText, fit } from '../text/styled-line.ts';
import { type View, helperSpans, signature } from './view.ts';

/** Maximum number of lines of a prompt. Longer prompts are truncated. */
const MAX_PROMPT_LINES = 40;

/** Returns the lines of an entry, without the blank line before it. */
export function entryLines(entry: Entry, view: View): StyledLine[] {
  switch (entry.kind) {
    case 'prompt':
      return promptLines(entry, view);
    case 'text':
      return textLines(entry, view);
    case 'thought':
      return thoughtLines(entry, view);
    case 'call':
      return callLines(entry, view);
    default:
      return noticeLines(entry, view);
  }
}

function noticeLines({ level, text, link }: NoticeEntry, view: View): StyledLine[] {
  const { width, plain } = view;
  const tone = level === 'error' ? 'bad' : 'dim';
  const textAt = (columns: number) => {
    const lines = wrapText(text, columns - 2, tone);
    return plain
      ? gutter(lines, line(level === 'error' ? 'Error: ' : ''), EMPTY)
      : gutter(lines, line(level === 'error' ? '✗ ' : '· ', tone), line('  '));
  };
  return link ? linkLines(link, textAt, view) : textAt(width);
}

function promptLines({ text, from }: PromptEntry, view: View): StyledLine[] {
  const who = signature(from, view);
  const words = span(clean(text), { tone: 'person', bold: true });
  const lines = splitLines([...who, words]).flatMap((each) => wrap(each, view.width - 2));
  const shown = cut(lines, MAX_PROMPT_LINES);
  if (view.plain) return gutter(shown, line(who.length > 0 ? '' : 'You: '), EMPTY);
  return gutter(shown, line('❯ ', { tone: 'person', bold: true }), line('  '));
}

function textLines(entry: TextEntry, { width, renderers, plain }: View): StyledLine[] {
  const { first, done } = entry;
  // Hides an incomplete code fence at the end of streamed text.
  const text = done ? entry.text : entry.text.replace(/(^|\n)[`~]{1,2}$/, '');
  if (text.trim() === '') return [];
  // Screen readers read the Markdown source better than drawn symbols.
  if (plain) {
    const said = clean(text).split('\n');
    return gutter(
      said.map((each) => line(each)),
      line(first ? 'Agent: ' : ''),
      EMPTY,
    );
  }
  const lines = renderers.markdown(text, width - 2);
  return gutter(lines, line(first ? '● ' : '  ', 'accent'), line('  '));
}

/** Maximum number of lines of a thought that the agent is still thinking. */
const MAX_THOUGHT_LINES = 6;

/**
 * Draws the subject of a thought and, while the agent is still thinking, the end of its text. Ctrl-T opens the complete
 * thought.
 */
function thoughtLines({ thought, done }: ThoughtEntry, { width, plain }: View): StyledLine[] {
  const subject = cleanLine(thought.subject);
  const helper = helperSpans(thought);
  if (plain) return [[span('Thought: '), ...helper, span(subject)]];
  const head = gutter(
    wrap([...helper, span(subject, { tone: 'dim', italic: true })], width - 2),
    [span('✻ ', 'faint')],
    line('  '),
  );
  const text = thought.description.trim();
  // If the text consists only of the subject, it is not drawn again.
  const isMore = text !== thought.subject.trim();
  if (done || !isMore || text === '') return head;
  const lines = cut(wrapText(text, width - 4, 'faint'), MAX_THOUGHT_LINES, 'last');
  return [...head, ...gutter(lines, line('  │ ', 'faint'), line('  │ ', 'faint'))];
}

const MAX_OUTPUT_LINES = 6;
const MAX_LIVE_LINES = 8;
const MAX_DIFF_LINES = 24;
/** Maximum length of an output. Longer output is truncated before it is cleaned and split into lines. */
const MAX_CHARS = 20_000;

/** Draws a tool call: its title and status, and below them the first or the last lines of its output. */
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

/** Returns the lines of the result, and a summary for the end of the first line, for example `+3 −1`. */
function bodyLines(entry: CallEntry, { width, renderers }: View) {
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
  return { lines: outputLines(part, room, max, tone, keep), summary: line(summary, 'bad') };
}

function outputLines(
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

type ShownLink = NonNullable<NoticeEntry['link']>;

/** Widths of the light border around the QR code, in modules. The standard requires four. Scanners need two. */
const BORDERS = [4, 3, 2];
/** Rows of the screen for the text field and the status line, with a blank line before and after them. */
const INPUT_ROWS = 6;
/** Columns between the QR code and the text beside it. */
const GAP = 2;
/** Minimum width of the text beside the QR code. */
const MIN_BESIDE = 20;
/**
 * For a small terminal, in which the QR code and the text below it do not fit on the screen together. The code is drawn
 * only if the screen has at least this number of rows more than the code. The top of the code scrolls off the screen,
 * and the person scrolls up to scan the code.
 */
const FEW_ROWS = 5;

/**
 * Returns the QR code of a link, the text about the link, and the link. The link starts in the first column, so that it
 * can be copied. The text is below the code or, on a low and wide screen, beside it. If the code does not fit on the
 * screen, it is left out.
 */
function linkLines(
  { url, code }: ShownLink,
  textAt: (width: number) => readonly StyledLine[],
  view: View,
): StyledLine[] {
  const { width, height = 0, plain } = view;
  const link = wrap(line(url, 'link'), width);
  const below = [...textAt(width), ...link];
  if (plain) return below;
  const widthOf = (border: number) => code.length + 2 * border;
  const rowsOf = (border: number) => Math.ceil(widthOf(border) / 2);
  const textBeside = (border: number, above: readonly StyledLine[] = []) => {
    const left = width - widthOf(border) - GAP;
    const lines = left < MIN_BESIDE ? undefined : [...above, ...textAt(left)];
    return lines && lines.length <= rowsOf(border) ? lines : undefined;
  };
  const fits = (border: number, free: number) =>
    widthOf(border) <= width && rowsOf(border) + free <= height;

  let border = BORDERS.find((each) => fits(each, below.length + INPUT_ROWS));
  if (border !== undefined) return [...codeLines(code, border), ...below];
  border = BORDERS.find((each) => textBeside(each) && fits(each, link.length + INPUT_ROWS));
  if (border !== undefined) {
    return [...joined(codeLines(code, border), textBeside(border) ?? []), ...link];
  }
  // Here, the link is above the code. The link and the first row of the border may scroll off the screen. The text
  // starts below this row, so the text and the modules of the code stay on the screen.
  border = BORDERS.findLast((each) => textBeside(each, [EMPTY]) && fits(each, INPUT_ROWS - 1));
  if (border !== undefined) {
    return [...link, ...joined(codeLines(code, border), textBeside(border, [EMPTY]) ?? [])];
  }
  border = BORDERS.findLast((each) => fits(each, FEW_ROWS));
  return border === undefined ? below : [...codeLines(code, border), ...below];
}

/** Puts each line of the text after a line of the code. */
function joined(code: readonly StyledLine[], text: readonly StyledLine[]): StyledLine[] {
  return code.map((row, index) => {
    const words = text[index];
    return words ? [...row, span(' '.repeat(GAP)), ...words] : row;
  });
}

/** Draws two rows of modules in each line, with half blocks. The dark modules have the colour of the text. */
function codeLines(code: ShownLink['code'], border: number): StyledLine[] {
  const size = code.length + 2 * border;
  const isDark = (row: number, column: number) => code[row - border]?.[column - border] === true;
  return Array.from({ length: Math.ceil(size / 2) }, (_, index) => {
    const blocks = Array.from({ length: size }, (_unused, column) => {
      const [top, bottom] = [isDark(2 * index, column), isDark(2 * index + 1, column)];
      return top ? (bottom ? '█' : '▀') : bottom ? '▄' : ' ';
    });
    return [span(blocks.join(''), { paper: true })];
  });
}
