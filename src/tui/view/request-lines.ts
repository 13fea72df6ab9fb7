/**
 * Draws the effect of a call, for the dialog that asks for its approval. Invisible characters are shown as symbols. If
 * something is left out, the result says so (`complete`, `whole`).
 */
import { elide } from '../../base/index.ts';
import type { ToolCall } from '../../protocol/development-tool/index.ts';
import {
  argumentText,
  callDetails,
  detailText,
  leavesOut,
  type CallDetail,
} from '../../protocol/schema-free/index.ts';
import { bothEnds, gutter, wrap } from '../text/styled-line.ts';
import {
  EMPTY,
  line,
  span,
  type StyledLine,
  type Tone,
  reveals,
  revealsLine,
} from '../../display/index.ts';
import type { View } from './view.ts';

interface RequestLines {
  /** The place where the call acts, which is a file, a folder or an MCP server. */
  readonly place: readonly StyledLine[];
  /** Whether the title of the dialog also names the place. */
  readonly isInTitle: boolean;
  readonly lines: readonly StyledLine[];
  /** The same as `lines`, but without the unchanged lines of a diff. */
  readonly compact: readonly StyledLine[];
  /** A summary for the edge of the dialog, for example `+3 −1`. */
  readonly summary: StyledLine;
  /** Whether the lines contain the whole effect. The server and this module leave out a part of a very large effect. */
  readonly complete: boolean;
}

/** Maximum length of a text. The middle of a longer text is left out, because drawing it would block the screen. */
const MAX_CHARS = 100_000;

/** Cache of the drawn requests. A dialog is drawn again for each frame, and it takes time to compute a diff. */
const drawn = new WeakMap<ToolCall, { readonly width: number; readonly request: RequestLines }>();

export function requestLines(call: ToolCall, view: View): RequestLines {
  const known = drawn.get(call);
  if (known?.width === view.width) return known.request;
  const request = draw(call, view);
  drawn.set(call, { width: view.width, request });
  return request;
}

/** Returns the place, the summary and all lines, for the pane and for `--plain`. */
export function wholeRequest(call: ToolCall, view: View): StyledLine[] {
  const { place, lines, summary } = requestLines(call, view);
  return [...place, ...(summary.length > 0 ? [summary] : []), ...lines];
}

export interface FittedRequest {
  readonly lines: readonly StyledLine[];
  /** Whether the lines contain the whole effect of the call. */
  readonly whole: boolean;
}

/** Minimum number of lines of a shortened request: one line at each end, and a note between them. */
const ENDS = 3;

/**
 * Returns at most `room` lines. `room` must be at least 2. If not everything fits, tries to leave out one part: the
 * place or, if this is not enough, the unchanged lines of a diff instead. Then tries to leave out both parts. As the
 * last step, leaves out the unchanged lines and the middle of the other lines. The place may be left out if the title
 * names it and the whole title is on the screen (`hasTitle`). In the last step, the place is also left out if there is
 * very little room.
 */
export function fittedRequest(
  call: ToolCall,
  view: View,
  room: number,
  hasTitle: boolean,
): FittedRequest {
  const { place, isInTitle, lines, compact, complete } = requestLines(call, view);
  const rest = [...place, ...compact];
  const mayDrop = hasTitle && isInTitle;
  const ways = [[...place, ...lines], ...(mayDrop ? [lines] : []), rest];
  for (const part of mayDrop ? [...ways, compact] : ways) {
    if (part.length <= room) return { lines: part, whole: complete };
  }
  const shortened = mayDrop || room <= place.length + ENDS ? compact : rest;
  return { lines: bothEnds(shortened, room, ' · Ctrl-O shows all'), whole: false };
}

function draw(call: ToolCall, view: View): RequestLines {
  const details = callDetails(call);
  const [first, ...rest] = details;
  const more = rest.flatMap((detail) => detailLines(detail, view));
  if (first?.kind !== 'change') {
    const place = first ? placeLines(first, view.width) : [];
    const lines = [...(first ? detailLines(first, view) : []), ...more];
    const complete = details.every(isComplete);
    const isInTitle = first?.kind === 'mcp';
    return { place, isInTitle, lines, compact: lines, summary: EMPTY, complete };
  }
  const { diff } = first;
  const { diffLines, summary } = view.renderers;
  const change = diffLines(diff, view.width);
  const path = `${revealsLine(diff.file_path)}${diff.old_content === undefined ? '  new file' : ''}`;
  const none = line('No line changes.', 'dim');
  return {
    place: wrap(line(path, 'dim'), view.width),
    isInTitle: diff.old_content !== undefined,
    lines: change.lines.length === 0 ? [none] : change.lines,
    compact: diffLines(diff, view.width, 0).lines,
    summary: summary(change),
    complete: change.complete,
  };
}

/**
 * Returns whether the detail is complete: this module draws all of its text, and the server has left nothing out of it.
 */
function isComplete(detail: CallDetail): boolean {
  if (detail.kind === 'patch' && leavesOut(detail.text)) return false;
  return detailText([detail]).length <= MAX_CHARS;
}

function placeLines(detail: CallDetail, width: number): StyledLine[] {
  if (detail.kind === 'mcp') {
    return wrap(line(`MCP server ${revealsLine(detail.server)}`, 'dim'), width);
  }
  if (detail.kind !== 'command' || detail.folder === undefined) return [];
  return wrap(line(`in ${revealsLine(detail.folder)}`, 'dim'), width);
}

function detailLines(detail: CallDetail, { width, renderers, plain }: View): StyledLine[] {
  switch (detail.kind) {
    case 'command':
      return gutter(textLines(detail.command, width - 2, 'code'), line('$ ', 'dim'), line('  '));
    case 'patch':
      return elide(reveals(detail.text), MAX_CHARS)
        .split('\n')
        .flatMap((each) => wrap(renderers.patchLine(each), width));
    case 'text':
      return textLines(detail.text, width);
    case 'argument': {
      const { text, block } = argumentText(detail.value);
      const name = span(`${revealsLine(detail.name)}: `, 'accent');
      const [first = '', ...others] = elide(reveals(text), MAX_CHARS).split('\n');
      if (!block) {
        const tail = others.flatMap((each) => wrap(line(each, 'code'), width));
        return [...wrap([name, span(first, 'code')], width), ...tail];
      }
      const bar = line(plain ? '| ' : '│ ', 'faint');
      return [[name], ...gutter(textLines(text, width - 2, 'code'), bar, bar)];
    }
    default:
      return [];
  }
}

function textLines(text: string, width: number, tone?: Tone): StyledLine[] {
  return elide(reveals(text), MAX_CHARS)
    .split('\n')
    .flatMap((each) => wrap(line(each, tone), width));
}
