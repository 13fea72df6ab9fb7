/** What is asked before a call is made: what it would do, and every answer that there is. */
import type { ConfirmationRequest } from '../../protocol/development-tool/index.ts';
import { isQuestion, type CallEntry } from '../state/entry.ts';
import { cut, EMPTY, line, span, wrap, type StyledLine } from '../text/styled-line.ts';
import { clean, cleanLine } from '../text/width.ts';
import { box } from './box.ts';
import { titleOf } from './call-lines.ts';
import type { View } from './view.ts';
import { menuLines } from './menu-lines.ts';

export interface DialogView {
  readonly entry: CallEntry;
  readonly selected: number;
  /** Of how many calls that wait this is which. */
  readonly position: readonly [number, number];
  /** The keys go to the text below. */
  readonly talking: boolean;
  readonly mayAnswer: boolean;
  readonly maxRows: number;
}

/** Frame, and the blank line between what is asked and the answers. */
const TAKEN = 3;
/** Of what is asked, this much is seen however many answers there are. */
const MIN_ABOUT = 2;

export function dialogLines(dialog: DialogView, view: View): StyledLine[] {
  const { entry, selected, position, talking, mayAnswer, maxRows } = dialog;
  const request = entry.call.confirmation_request;
  if (!request) return [];
  const width = view.width - 4;
  const choices = mayAnswer
    ? menuLines(request.options, talking ? -1 : selected, width, maxRows - TAKEN - MIN_ABOUT)
    : [line('This client may only look on; somebody else has to answer.', 'dim')];
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
  if (talking) return 'Tab back to the answers';
  const more = long ? ['Ctrl-O all'] : [];
  return isQuestion(entry)
    ? ['↑↓ Enter', 'Esc does not answer', ...more, 'Tab to write'].join(' · ')
    : ['↑↓ Enter', 'Esc rejects', ...more, 'Tab says why not'].join(' · ');
}

/** What the call would do. */
export function aboutLines(request: ConfirmationRequest, view: View): StyledLine[] {
  const { width } = view;
  const text = (shown: string): StyledLine[] =>
    clean(shown)
      .split('\n')
      .flatMap((each) => wrap(line(each), width));
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
    return text(`${cleanLine(tool)} of the MCP server ${cleanLine(server)}`);
  }
  return text(request.generic_details?.description ?? '');
}
