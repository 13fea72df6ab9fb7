/**
 * Draws long texts and file changes in slices. Each further slice is drawn when the person asks for it. So a text of
 * any size does not block the page, and the person can see all of it.
 */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { clean, reveals, type StyledLine } from '../../../display/index.ts';
import {
  changeOf,
  contentNote,
  highlight,
  largeChange,
  patchLine,
} from '../../../display/text/index.ts';
import type { FileDiff } from '../../../protocol/development-tool/index.ts';
import { PageButton } from '../parts/controls.tsx';
import { MAX_ROW, rowEnd } from './long-text.ts';

/**
 * For a change of this many characters or more, the page does not compare the lines. It shows the server's diff, or the
 * new content if there is no diff.
 */
const LARGE = 400_000;
/** Maximum number of characters of a slice of a text. The last row of a slice may exceed this limit. */
const SLICE_CHARS = 60_000;
/** Each slice may have GROWTH times as many rows as the slice before it, but at most MAX_SLICE. */
const GROWTH = 4;
const MAX_SLICE = 3000;

export function Spans({ line }: { readonly line: StyledLine }) {
  return (
    <>
      {line.map(({ text, tone }) =>
        tone === undefined ? text : <span class={`t-${tone}`}>{text}</span>,
      )}
    </>
  );
}

/** A part of a text or a change. `next` is the start of the next part, or undefined at the end. */
interface Slice {
  readonly rows: readonly ComponentChildren[];
  readonly next: number | undefined;
  /** The size of the remaining parts, as a text for the button that shows more. */
  readonly left: string;
}

type Take = (from: number, rows: number) => Slice;

function Slices({ take, first }: { readonly take: Take; readonly first: number }) {
  const [count, setCount] = useState(1);
  const slices = useMemo(() => {
    const found: Slice[] = [];
    let rows = first;
    for (let from: number | undefined = 0; from !== undefined && found.length < count;) {
      const slice: Slice = take(from, rows);
      found.push(slice);
      from = slice.next;
      rows = Math.min(rows * GROWTH, MAX_SLICE);
    }
    return found;
  }, [take, first, count]);
  const last = slices.at(-1);
  return (
    <>
      {slices.map(({ rows }) => (
        <div class="slice">{rows}</div>
      ))}
      {last?.next === undefined ? null : (
        <PageButton class="more" onClick={() => setCount(count + 1)}>
          Show more ({last.left} left)
        </PageButton>
      )}
    </>
  );
}

interface TextProps {
  readonly text: string;
  /** The number of rows in the first slice. */
  readonly first: number;
  /**
   * How the text is made safe. `clean` removes control characters and escape sequences. `reveal` shows all invisible
   * characters as symbols, for text that a person approves.
   */
  readonly safe: 'clean' | 'reveal';
  /** Whether the text is a diff, whose lines get colours. */
  readonly patch?: boolean;
}

/** Draws a text with line breaks. */
export function LongText({ text, first, safe, patch = false }: TextProps) {
  const take = useMemo((): Take => {
    const safely = safe === 'clean' ? clean : reveals;
    const row = (line: string) => <div>{patch ? <Spans line={patchLine(line)} /> : line}</div>;
    return (from, count) => {
      const rows: ComponentChildren[] = [];
      let at = from;
      while (at < text.length && rows.length < count && at - from < SLICE_CHARS) {
        const end = rowEnd(text, at);
        rows.push(row(safely(text.slice(at, end))));
        at = text[end] === '\n' ? end + 1 : end;
      }
      const next = at < text.length ? at : undefined;
      return { rows, next, left: shownSize(text.length - at) };
    };
  }, [text, safe, patch]);
  return (
    <div class="lines">
      <Slices take={take} first={first} />
    </div>
  );
}

/** Returns a size for people, such as `12 KB`. */
export function shownSize(chars: number, unit: 'bytes' | 'characters' = 'characters'): string {
  if (chars < 1000) return `${chars} ${unit}`;
  return chars < 1_000_000 ? `${Math.round(chars / 1000)} KB` : `${(chars / 1e6).toFixed(1)} MB`;
}

/** Draws a file change. The lines have the colours of their language, unless the change is large. */
export function ChangeView({ diff, first }: { readonly diff: FileDiff; readonly first: number }) {
  if (!isLarge(diff)) return <SmallChange diff={diff} first={first} />;
  const { text, kind, notes, complete } = largeChange(diff);
  return (
    <>
      {complete ? null : <LeftOut />}
      {notes.map((note) => (
        <p>{reveals(note)}</p>
      ))}
      {kind === 'content' ? <p class="dim">{contentNote(complete)}</p> : null}
      <LongText text={text} first={first} safe="reveal" patch={kind === 'diff'} />
    </>
  );
}

function LeftOut() {
  return (
    <p class="warning">The server has left out a part of this change, because it is too large.</p>
  );
}

function SmallChange({ diff, first }: { readonly diff: FileDiff; readonly first: number }) {
  const change = useMemo(() => changeOf(diff), [diff]);
  const take = useMemo((): Take => {
    const language = /\.(\w+)$/.exec(diff.file_name)?.[1] ?? '';
    const { lines } = change;
    return (from, count) => {
      const rows = lines.slice(from, from + count).map((line): ComponentChildren => {
        if (line.kind === 'gap') return <div class="gap">⋮</div>;
        if (line.kind === 'note') return <div class="dim">{line.text}</div>;
        if (line.kind === 'patch') {
          return (
            <div>
              <Spans line={patchLine(line.text)} />
            </div>
          );
        }
        const sign = line.kind === '+' ? 'added' : line.kind === '-' ? 'removed' : 'same';
        return (
          <div class={`row ${sign}`}>
            <span class="number">{line.number}</span>
            <span class="sign">{line.kind}</span>
            <span class="text">{coloured(line.text, language)}</span>
          </div>
        );
      });
      const next = from + count < lines.length ? from + count : undefined;
      return { rows, next, left: `${lines.length - from - count} lines` };
    };
  }, [change, diff]);
  if (change.lines.length === 0) return <p class="dim">No line changes.</p>;
  return (
    <div class="lines change">
      <Slices take={take} first={first} />
      {change.complete ? null : <LeftOut />}
    </div>
  );
}

function coloured(text: string, language: string): ComponentChildren {
  if (text.length > MAX_ROW) return text;
  return highlight(text, language).map((line) => <Spans line={line} />);
}

/** Returns the numbers of added and removed lines, or undefined for a large change. */
export function countsOf(diff: FileDiff): { added: number; removed: number } | undefined {
  return isLarge(diff) ? undefined : changeOf(diff);
}

function isLarge({ old_content: before = '', new_content: after }: FileDiff): boolean {
  return before.length + after.length >= LARGE;
}
