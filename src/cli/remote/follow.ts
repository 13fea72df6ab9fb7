/**
 * Prints a stream as it arrives. The agent's text goes to standard output, and state changes go to standard error. Also
 * determines the exit code from a task's result, and prints hints for the next command.
 */
import { type AgentStream, createTextTracker } from '../../client/index.ts';
import {
  answerData,
  callDetails,
  coderAgentKind,
  detailText,
  OPTION,
  readStatus,
  waitingCallsIn,
} from '../../protocol/development-tool/index.ts';
import {
  isFailure,
  isInterrupted,
  isSettled,
  isTerminal,
  type Part,
  type SendResult,
  type StreamEvent,
  type Task,
  type TaskState,
  type TaskStatus,
  textOf,
} from '../../protocol/index.ts';
import type { Connection } from './connection.ts';
import { createFactPrinter } from './fact-printer.ts';
import { EXIT } from '../program/exit.ts';
import { onInterrupt } from '../program/process-end.ts';
import { answerOf, contentOf, questionAfterAnswer } from '../program/render.ts';
import { complain, note, sayJson, shown, word } from '../program/terminal.ts';

/**
 * Prints the stream and returns the exit code. With `untilSettled` it stops when the task ends or waits for input,
 * because some agents leave the stream of a waiting task open.
 */
export async function follow(
  stream: AgentStream,
  connection: Connection,
  { untilSettled = false } = {},
): Promise<number> {
  const { json, codec } = connection;
  onInterrupt(() => {
    const { task, lastSeq } = stream;
    if (task) {
      const after = lastSeq === undefined ? [] : ['--after', String(lastSeq)];
      note(`\nThe agent continues to work. To watch it:`);
      note(`  ${connection.command('watch', task.id, ...after)}`);
    }
    process.exit(EXIT.interrupted);
  });
  const printer = createPrinter();
  /**
   * Returns whether the task still has this status. A replayed stream also contains questions that have already been
   * answered.
   */
  async function isCurrent({ state, timestamp }: TaskStatus): Promise<boolean> {
    if (isTerminal(state) || !stream.task) return true;
    const { status } = await connection.agent.get(stream.task.id, { historyLength: 0 });
    return status.state === state && status.timestamp === timestamp;
  }
  for await (const { event } of stream) {
    if (json) sayJson(codec.encodeEvent(event));
    else printer.print(event);
    const status = statusOf(event);
    if (untilSettled && status && isSettled(status.state) && (await isCurrent(status))) break;
  }
  const result = stream.message ?? stream.task;
  if (!json) printer.end(stream.task);
  return conclude(result, connection);
}

function statusOf(event: StreamEvent): TaskStatus | undefined {
  return event.kind === 'task' || event.kind === 'status-update' ? event.status : undefined;
}

function createPrinter() {
  const added = createTextTracker();
  const printer = createFactPrinter();
  let state: TaskState | undefined;
  let artifactId: string | undefined;

  return {
    print(event: StreamEvent): void {
      const status = statusOf(event);
      const text = shown(added(event));
      if (event.kind === 'artifact-update' && text !== '') {
        // Another artifact starts on a new line.
        if (event.artifact.artifactId !== artifactId) printer.breakLine();
        artifactId = event.artifact.artifactId;
      }
      if (event.kind === 'status-update') {
        const { about, facts } = readStatus(event);
        const told = about ?? coderAgentKind(event.metadata);
        if (told !== undefined) for (const fact of facts) printer.print(fact);
      } else {
        printer.write(text);
      }
      for (const part of otherParts(event)) {
        printer.breakLine();
        printer.write(contentOf([part]));
      }
      if (status && status.state !== state) {
        state = status.state;
        printer.remark(`· ${state}`);
      }
    },
    /** Prints the whole answer if nothing was printed yet. After a printed part, prints a waiting task's question. */
    end(task: Task | undefined): void {
      if (task && !printer.any) {
        printer.write(answerOf(task));
      } else if (task) {
        printer.breakLine();
        printer.write(questionAfterAnswer(task));
      }
      printer.breakLine();
    },
  };
}

/** Returns the parts that are not text: the text tracker handles text. For a status update, the list is empty. */
function otherParts(event: StreamEvent): Part[] {
  const lists =
    event.kind === 'artifact-update'
      ? [event.artifact.parts]
      : event.kind === 'message'
        ? [event.parts]
        : event.kind === 'task'
          ? (event.artifacts ?? []).map(({ parts }) => parts)
          : [];
  return lists.flat().filter(({ kind }) => kind !== 'text');
}

/** Returns the exit code for the result. Prints why a task failed, or how to answer a task that waits for input. */
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
