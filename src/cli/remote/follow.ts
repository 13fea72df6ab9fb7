/** Prints a stream as it comes: the agent's text on standard output, what happens to the task on standard error. */
import { type AgentStream, createTextTracker } from '../../client/index.ts';
import {
  isSettled,
  isTerminal,
  type Part,
  type StreamEvent,
  type Task,
  type TaskState,
  type TaskStatus,
} from '../../protocol/index.ts';
import type { Connection } from './connection.ts';
import { createCallLines, type News, newsIn } from './development-events.ts';
import { EXIT } from '../program/exit.ts';
import { onInterrupt } from '../program/interrupt.ts';
import { conclude } from './outcome.ts';
import { answerOf, contentOf, questionOf } from '../program/render.ts';
import { note, sayJson, shown, word } from '../program/terminal.ts';

/**
 * Reads the stream to its end, or only until there is nothing to see before somebody acts: an agent may leave the
 * stream of a task that waits open for what follows. Returns the exit code.
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
      note(`\nThe agent works on. To go on watching:`);
      note(`  ${connection.command('watch', task.id, ...after)}`);
    }
    process.exit(EXIT.interrupted);
  });
  const printer = createPrinter();
  /** An old question, long since answered, is not where a task stands. */
  async function isLast({ state, timestamp }: TaskStatus): Promise<boolean> {
    if (isTerminal(state) || !stream.task) return true;
    const { status } = await connection.agent.get(stream.task.id, { historyLength: 0 });
    return status.state === state && status.timestamp === timestamp;
  }
  for await (const { event } of stream) {
    if (json) sayJson(codec.encodeEvent(event));
    else printer.print(event);
    const status = statusOf(event);
    if (untilSettled && status && isSettled(status.state) && (await isLast(status))) break;
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
  const lineOf = createCallLines();
  let state: TaskState | undefined;
  /** Something of the answer was printed. */
  let any = false;
  let midLine = false;
  let artifactId: string | undefined;

  function write(text: string): void {
    if (text === '') return;
    any = true;
    midLine = !text.endsWith('\n');
    process.stdout.write(text);
  }

  function breakLine(): void {
    if (midLine) process.stdout.write('\n');
    midLine = false;
  }

  function remark(line: string): void {
    // On a terminal both streams are one: the remark gets a line of its own.
    if (process.stdout.isTTY) breakLine();
    note(line);
  }

  function tell(news: News): void {
    if (news.kind === 'text') {
      write(shown(news.text));
    } else if (news.kind === 'thought') {
      remark(`… ${word(news.subject)}`);
    } else {
      const line = lineOf(news.call);
      if (line === undefined) return;
      breakLine();
      remark(line);
    }
  }

  return {
    print(event: StreamEvent): void {
      const status = statusOf(event);
      const text = shown(added(event));
      if (event.kind === 'artifact-update' && text !== '') {
        // Another thing is said, perhaps by another agent.
        if (event.artifact.artifactId !== artifactId) breakLine();
        artifactId = event.artifact.artifactId;
      }
      write(text);
      for (const news of newsIn(event)) tell(news);
      for (const part of otherParts(event)) {
        breakLine();
        write(contentOf([part]));
      }
      if (status && status.state !== state) {
        state = status.state;
        remark(`· ${state}`);
      }
    },
    /** The status's words are the answer where there was no other, or the question; else they repeat it. */
    end(task: Task | undefined): void {
      if (task && !any) {
        write(answerOf(task));
      } else if (task) {
        breakLine();
        write(questionOf(task));
      }
      breakLine();
    },
  };
}

/** What is not text, and so is not in the text that the tracker gives. */
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
