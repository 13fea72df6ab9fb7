/** Entries of the history as lines, whether they are printed for good or still change. */
import { cut, EMPTY, gutter, line, span, wrap, type StyledLine } from '../text/styled-line.ts';
import { clean, cleanLine } from '../text/width.ts';
import type { Entry, NoticeEntry, PromptEntry, TextEntry, ThoughtEntry } from '../state/entry.ts';
import { callLines } from './call-lines.ts';
import type { View } from './view.ts';
import { signature } from './who.ts';

/** A prompt of a page or more is in the log; here its beginning does. */
const MAX_PROMPT_LINES = 40;

/** Without the blank line before it. */
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

function noticeLines({ level, text }: NoticeEntry, { width, plain }: View): StyledLine[] {
  const tone = level === 'error' ? 'bad' : 'dim';
  const lines = clean(text)
    .split('\n')
    .flatMap((each) => wrap(line(each, tone), width - 2));
  if (plain) return gutter(lines, line(level === 'error' ? 'Error: ' : ''), EMPTY);
  return gutter(lines, line(level === 'error' ? '✗ ' : '· ', tone), line('  '));
}

function promptLines({ text, from }: PromptEntry, view: View): StyledLine[] {
  const who = signature(from, view);
  const lines = clean(text)
    .split('\n')
    .flatMap((each, index) => {
      const said = line(each, { tone: 'person', bold: true });
      return wrap(index === 0 ? [...who, ...said] : said, view.width - 2);
    });
  const shown = cut(lines, MAX_PROMPT_LINES);
  if (view.plain) return gutter(shown, line(who.length > 0 ? '' : 'You: '), EMPTY);
  return gutter(shown, line('❯ ', { tone: 'person', bold: true }), line('  '));
}

function textLines(entry: TextEntry, { width, renderers, plain }: View): StyledLine[] {
  const { first, done } = entry;
  // Half a fence at the end is not yet code.
  const text = done ? entry.text : entry.text.replace(/(^|\n)[`~]{1,2}$/, '');
  if (text.trim() === '') return [];
  // Read aloud, Markdown is better as it was written than with signs drawn around it.
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

/** One line: the whole thought is behind a key. */
function thoughtLines({ thought }: ThoughtEntry, { width, plain }: View): StyledLine[] {
  const subject = cleanLine(thought.subject);
  if (plain) return [line(`Thought: ${subject}`)];
  return gutter(
    wrap(line(subject, { tone: 'dim', italic: true }), width - 2),
    [span('✻ ', 'faint')],
    line('  '),
  );
}
