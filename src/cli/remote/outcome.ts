/** Determines the exit code from a task's result, and prints hints for the next command. */
import {
  answerData,
  callDetails,
  detailText,
  OPTION,
  waitingCallsIn,
} from '../../protocol/development-tool/index.ts';
import {
  isFailure,
  isInterrupted,
  type SendResult,
  type Task,
  textOf,
} from '../../protocol/index.ts';
import type { Connection } from './connection.ts';
import { EXIT } from '../program/exit.ts';
import { complain, note, word } from '../program/terminal.ts';

export function conclude(result: SendResult | undefined, connection: Connection): number {
  if (result?.kind !== 'task') return EXIT.done;
  const { state, message } = result.status;
  const said = message ? word(textOf(message.parts)) : '';
  if (isFailure(state)) {
    const how = state === 'failed' ? 'failed' : `was ${state}`;
    const next = connection.command('get', result.id);
    complain(`the task ${how}${said === '' ? '' : `: ${said}`} (${next} shows the task)`);
    return EXIT.failed;
  }
  if (isInterrupted(state) && !connection.json) explainWait(result, connection);
  return EXIT.done;
}

function explainWait(task: Task, connection: Connection): void {
  const { id, status } = task;
  const calls = waitingCallsIn(task);
  for (const call of calls) {
    const { description, tool_name, confirmation_request } = call;
    const options = confirmation_request?.options ?? [];
    const data = JSON.stringify(answerData(call, options[0]?.id ?? OPTION.once));
    note(`The agent asks: ${word(description ?? tool_name)}`);
    for (const line of detailText(callDetails(call)).split('\n')) note(`  | ${line}`);
    note('To answer:');
    note(`  ${connection.command('send', '--task', id, '--data', data)}`);
    note('  The options:');
    for (const option of options) note(`    ${word(option.id)}: ${word(option.name)}`);
  }
  if (calls.length > 0) return;
  const what = status.state === 'auth-required' ? 'an authorization' : 'an answer';
  note(`The agent waits for ${what}. To send it:`);
  note(`  ${connection.command('send', '--task', id)} "…"`);
}
