/**
 * Renders Markdown for a terminal. The package `marked` parses it. Text is wrapped to the width. Wrapped lines have the
 * same indent as the first line. Code keeps its line breaks.
 */
import type { Token, Tokens } from 'marked';
import { decodedEntities, highlight, markdownTokens } from '../../display/text/index.ts';
import { EMPTY, line, span, splitLines, type StyledLine, type Look } from '../../display/index.ts';
import { fit, gutter, lineWidth, wrap } from './styled-line.ts';
import { widthOf } from './width.ts';

/** Maximum depth up to which nested lists and quotes are indented. */
const MAX_DEPTH = 8;
const MAX_RULE = 40;

/**
 * Renders a text, which may be untrusted. The result has no blank lines at its start and end. A text that would take
 * the parser too long is shown as it is.
 */
export function markdown(source: string, width: number): StyledLine[] {
  const room = Math.max(8, width);
  const read = markdownTokens(source);
  return 'text' in read ? flow(line(read.text), room) : blocks(read.tokens, room, 0);
}

function blocks(
  tokens: readonly Token[],
  width: number,
  depth: number,
  tight = false,
): StyledLine[] {
  const out: StyledLine[] = [];
  for (const token of tokens) {
    const lines = block(token, width, depth);
    if (lines.length === 0) continue;
    if (out.length > 0 && !tight) out.push(EMPTY);
    for (const each of lines) out.push(each);
  }
  return out;
}

/**
 * Renders one block. The casts are safe, because `type` determines the kind of token if no extension of marked is used.
 */
function block(token: Token, width: number, depth: number): StyledLine[] {
  switch (token.type) {
    case 'space':
    case 'def':
      return [];
    case 'heading': {
      const { tokens, depth: level } = token as Tokens.Heading;
      const look: Look = { tone: 'heading', bold: true, underline: level === 1 };
      return flow(inline(tokens, look), width);
    }
    case 'code': {
      const { text, lang = '' } = token as Tokens.Code;
      const [name = ''] = lang.split(/[\s,{]/, 1);
      const bar = line('│ ', 'faint');
      const lines = highlight(text, name).flatMap((each) => wrap(each, width - 2));
      return gutter(lines, bar, bar);
    }
    case 'blockquote': {
      const { tokens } = token as Tokens.Blockquote;
      const bar = line('▎ ', 'dim');
      const inner = blocks(tokens, innerWidth(width, depth), depth + 1);
      return gutter(inner, bar, bar).map((each) =>
        each.map((piece) => ({ italic: true, ...piece })),
      );
    }
    case 'list':
      return list(token as Tokens.List, width, depth);
    case 'hr':
      return [line('─'.repeat(Math.min(width, MAX_RULE)), 'faint')];
    case 'table':
      return table(token as Tokens.Table, width);
    case 'html':
      return flow(line((token as Tokens.HTML).text.trim(), 'dim'), width);
    default: {
      const { tokens, text } = token as Tokens.Paragraph | Tokens.Text;
      return flow(tokens ? inline(tokens, {}) : line(text), width);
    }
  }
}

function innerWidth(width: number, depth: number): number {
  return depth < MAX_DEPTH ? Math.max(4, width - 2) : width;
}

function list(token: Tokens.List, width: number, depth: number): StyledLine[] {
  const first = token.ordered ? Number(token.start) : 0;
  const widest = token.ordered ? String(first + token.items.length - 1).length + 2 : 2;
  const out: StyledLine[] = [];
  for (const [index, item] of token.items.entries()) {
    const sign = token.ordered ? `${first + index}.`.padStart(widest - 1) : '•';
    const box = item.task ? `${item.checked === true ? '☑' : '☐'} ` : '';
    const mark = [span(`${sign} `, 'dim'), ...line(box, 'accent')];
    const taken = depth < MAX_DEPTH ? lineWidth(mark) : 0;
    const lines = blocks(
      // The checkbox is drawn as part of the mark.
      item.tokens.filter(({ type }) => type !== 'checkbox'),
      Math.max(4, width - taken),
      depth + 1,
      !token.loose,
    );
    if (index > 0 && token.loose) out.push(EMPTY);
    const marked = gutter(lines.length > 0 ? lines : [EMPTY], mark, line(' '.repeat(taken)));
    for (const each of marked) out.push(each);
  }
  return out;
}

const GAP = 2;
const NARROWEST = 6;

/**
 * Renders a table. If all columns fit, they are as wide as their content. Otherwise, they share the width. If this
 * would make them too narrow, each row is rendered as a list.
 */
function table({ header, rows, align }: Tokens.Table, width: number): StyledLine[] {
  const cells = [header, ...rows].map((row) => row.map(({ tokens }) => inline(tokens, {})));
  const columns = header.length;
  const wanted = Array.from({ length: columns }, (_, at) =>
    cells.reduce((widest, row) => Math.max(widest, lineWidth(row[at] ?? EMPTY)), 1),
  );
  const room = width - GAP * (columns - 1);
  if (room < columns * NARROWEST && sum(wanted) > room) return narrowTable(cells, width);
  const widths = shared(wanted, room);
  const rule = line(widths.map((each) => '─'.repeat(each)).join(' '.repeat(GAP)), 'faint');
  const [head = [], ...body] = cells.map((row) => tableRow(row, widths, align));
  return [...head.map(strong), rule, ...body.flat()];
}

function tableRow(
  row: readonly StyledLine[],
  widths: readonly number[],
  align: Tokens.Table['align'],
): StyledLine[] {
  const wrapped = widths.map((width, at) => wrap(row[at] ?? EMPTY, width));
  const height = Math.max(...wrapped.map((lines) => lines.length));
  return Array.from({ length: height }, (_, down) =>
    widths.flatMap((width, at): StyledLine => {
      const text = fit(wrapped[at]?.[down] ?? EMPTY, width);
      const last = at === widths.length - 1;
      const free = width - lineWidth(text);
      const before = align[at] === 'right' ? free : align[at] === 'center' ? free >> 1 : 0;
      const after = last ? 0 : free - before + GAP;
      return [...line(' '.repeat(before)), ...text, ...line(' '.repeat(after))];
    }),
  );
}

function narrowTable(cells: readonly (readonly StyledLine[])[], width: number): StyledLine[] {
  const [names = [], ...rows] = cells;
  const out: StyledLine[] = [];
  for (const row of rows) {
    if (out.length > 0) out.push(EMPTY);
    for (const [at, cell] of row.entries()) {
      out.push(...flow([...strong(names[at] ?? EMPTY), span(': '), ...cell], width));
    }
  }
  return out;
}

/** Shrinks the widest columns until all columns fit, or until each has the width 1. */
function shared(wanted: readonly number[], room: number): number[] {
  const widths = [...wanted];
  while (sum(widths) > room) {
    const widest = Math.max(...widths);
    if (widest <= 1) break;
    widths[widths.indexOf(widest)] = widest - 1;
  }
  return widths;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}

function strong(pieces: StyledLine): StyledLine {
  return pieces.map((piece) => ({ ...piece, bold: true }));
}

/** Wraps text that contains line breaks. */
function flow(pieces: StyledLine, width: number): StyledLine[] {
  return splitLines(pieces).flatMap((each) => wrap(each, width));
}

function inline(tokens: readonly Token[], look: Look): StyledLine {
  return tokens.flatMap((token): StyledLine => {
    switch (token.type) {
      case 'strong':
        return inline((token as Tokens.Strong).tokens, { ...look, bold: true });
      case 'em':
        return inline((token as Tokens.Em).tokens, { ...look, italic: true });
      case 'del':
        return inline((token as Tokens.Del).tokens, { ...look, strike: true });
      case 'codespan':
        return line((token as Tokens.Codespan).text, { ...look, tone: 'code' });
      case 'br':
        return line('\n');
      case 'link':
        return link(token as Tokens.Link, look);
      case 'image': {
        const { text, href } = token as Tokens.Image;
        return line(`[image: ${text === '' ? href : text}]`, { ...look, tone: 'dim' });
      }
      case 'checkbox':
        return EMPTY;
      default: {
        const { tokens: inner, text } = token as Tokens.Text;
        return inner && inner.length > 0 ? inline(inner, look) : line(decodedEntities(text), look);
      }
    }
  });
}

/**
 * Renders a link, followed by its URL, so that readers see the target. If the text of the link is its URL, the URL is
 * shown only once.
 */
function link({ tokens, href, text }: Tokens.Link, look: Look): StyledLine {
  const shown = inline(tokens, { ...look, tone: 'link', underline: true });
  const same = href === text || href === `mailto:${text}` || widthOf(href) === 0;
  return same ? shown : [...shown, span(` (${href})`, 'dim')];
}
