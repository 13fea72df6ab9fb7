/** Draws the dialog of a confirmation request: what the call would do, and the options. */
import type { ConfirmationRequest } from '../../protocol/development-tool/index.ts';
import { isQuestion, type CallEntry } from '../state/entry.ts';
import { cut, EMPTY, line, span, wrap, wrapText, type StyledLine } from '../text/styled-line.ts';
import { clean, cleanLine } from '../text/width.ts';
import { box } from './box.ts';
import { titleOf } from './call-lines.ts';
import type { View } from './view.ts';
import { menuLines } from './menu-lines.ts';

export interface DialogView {
  readonly entry: CallEntry;
  readonly selected: number;
  /** The number of this call, from 1, and the number of waiting calls. */
  readonly position: readonly [number, number];
  /** Whether the keys go to the text field. */
  readonly talking: boolean;
  readonly mayAnswer: boolean;
  readonly maxRows: number;
}

/** Rows for the box edges and the blank line before the options. */
const TAKEN = 3;
/** Minimum number of rows for the description of the call. */
const MIN_ABOUT = 2;

export function dialogLines(dialog: DialogView, view: View): StyledLine[] {
  const { entry, selected, position, talking, mayAnswer, maxRows } = dialog;
  const request = entry.call.confirmation_request;
  if (!request) return [];
  const width = view.width - 4;
  const choices = mayAnswer
    ? menuLines(request.options, talking ? -1 : selected, width, maxRows - TAKEN - MIN_ABOUT)
    : [line('This client can only watch. Another client has to answer.', 'dim')];
  const room = Math.max(1, maxRows - choices.length - TAKEN);
  const about = aboutLines(request, { ...view, width });
  const body = [...cut(about, room), EMPTY, ...choices];
  const [at, of] = position;
  return box(body, view.width, {
    title: [
      ...(entry.call.agent === undefined ? [] : [span(`${cleanLine(entry.call.agent)} › `, 'dim')]),
      span(isQuestion(entry) ? 'Question' : titleOf(entry.call), { bold: true }),
    ],
    ...(of > 1 && { note: `${at} of ${of}` }),
    keys: mayAnswer ? keysFor(entry, talking, about.length > room) : '',
    tone: talking ? 'faint' : 'warning',
  });
}

function keysFor(entry: CallEntry, talking: boolean, long: boolean): string {
  if (talking) return 'Tab returns to the options';
  const more = long ? ['Ctrl-O all'] : [];
  return isQuestion(entry)
    ? ['↑↓ Enter', 'Esc declines', ...more, 'Tab types an answer'].join(' · ')
    : ['↑↓ Enter', 'Esc rejects', ...more, 'Tab rejects with a reason'].join(' · ');
}

/** Describes what the call would do. */
export function aboutLines(request: ConfirmationRequest, view: View): StyledLine[] {
  const { width } = view;
  if (request.file_edit_details) {
    const diff = view.renderers.diffLines(request.file_edit_details, width);
    const path = cleanLine(request.file_edit_details.file_path);
    const fresh = request.file_edit_details.old_content === undefined ? '  new file' : '';
    const head: StyledLine = [
      span(`${path}  `, 'dim'),
      ...view.renderers.summary(diff),
      span(fresh, 'dim'),
    ];
    return [...wrap(head, width), ...diff.lines];
  }
  if (request.execute_details) {
    const { command, working_directory: folder } = request.execute_details;
    return [
      ...clean(command)
        .split('\n')
        .flatMap((each, index) =>
          wrap([span(index === 0 ? '$ ' : '  ', 'dim'), span(each, 'code')], width),
        ),
      ...(folder === undefined ? [] : wrap(line(`in ${cleanLine(folder)}`, 'dim'), width)),
    ];
  }
  if (request.mcp_details) {
    const { server_name: server, tool_name: tool } = request.mcp_details;
    return wrapText(`${cleanLine(tool)} (MCP server ${cleanLine(server)})`, width);
  }
  return wrapText(request.generic_details?.description ?? '', width);
}
