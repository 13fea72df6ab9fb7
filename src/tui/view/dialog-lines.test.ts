import assert from 'node:assert/strict';
import { test } from 'node:test';
import { editCall } from '../../../test/tui/demo.ts';
import { ScriptedSession } from '../../../test/tui/scripted-session.ts';
import { reduceState } from '../../display/state/index.ts';
import { INITIAL, waitingCalls, textOfLine } from '../../display/index.ts';
import { dialogLines } from './dialog-lines.ts';
import * as renderers from './renderers.ts';

const FOLDER = `packages/${'a'.repeat(60)}/.git/hooks`;

/** Draws the dialog of an edit of one line in a file. */
function drawn(file: string, width: number, maxRows: number) {
  const session = new ScriptedSession();
  const call = editCall('e');
  const request = call.confirmation_request!;
  const details = {
    ...request.file_edit_details!,
    file_path: `/project/${file}`,
    old_content: 'a\n',
    new_content: 'b\n',
  };
  void session.ask({
    ...call,
    description: `Edit ${file}`,
    confirmation_request: { ...request, file_edit_details: details },
  });
  const state = reduceState(INITIAL, session.snapshot());
  const [entry] = waitingCalls(state);
  const { lines, drawn: shown } = dialogLines(
    {
      entry: entry!,
      selected: undefined,
      focus: 'options',
      position: [1, 1],
      mayAnswer: true,
      maxRows,
    },
    { width, renderers, self: session.self, clients: [], plain: false, spinner: '' },
  );
  const option = request.options[shown?.selected ?? -1]?.id;
  return { text: lines.map(textOfLine).join('\n'), option };
}

test('nothing that allows a change is preselected while its path is not on the screen', () => {
  for (let rows = 8; rows <= 16; rows++) {
    const { text, option } = drawn(`${FOLDER}/pre-commit`, 40, rows);
    const isSeen = text.replaceAll(/[\s│]/g, '').includes(`${FOLDER}/pre-commit`);
    if (!isSeen) assert.equal(option, 'cancel', text);
  }
  assert.equal(drawn(`${FOLDER}/pre-commit`, 40, 8).option, 'cancel');
  assert.equal(drawn(`${FOLDER}/pre-commit`, 40, 16).option, 'proceed_once');
  // The title shows the path.
  assert.equal(drawn('a.ts', 40, 8).option, 'proceed_once');
});
