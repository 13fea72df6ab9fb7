/** Draws the entries of the history. */
import { cut, gutter, wrap, wrapText } from '../text/styled-line.ts';
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
} from '../../display/index.ts';
import { callLines } from './call-lines.ts';
import { linkLines } from './link-lines.ts';
import type { View } from './view.ts';
import { helperSpans, signature } from './who.ts';

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
  // The subject may be the first line of the text.
  const isMore = text !== thought.subject.trim();
  if (done || !isMore || text === '') return head;
  const lines = cut(wrapText(text, width - 4, 'faint'), MAX_THOUGHT_LINES, 'last');
  return [...head, ...gutter(lines, line('  │ ', 'faint'), line('  │ ', 'faint'))];
}
