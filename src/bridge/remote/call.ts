/**
 * Runs one turn of a remote agent. A turn sends a message or follows a running task. It ends with a result, a question
 * or a failure.
 */
import { pause, raceAbort, systemCode } from '../../base/index.ts';
import type { ActiveSpan } from '../../base/tracing/index.ts';
import type { RunContext, Event, EventFields } from '../../agent/index.ts';
import {
  ConnectionError,
  Lifetime,
  limitSilence,
  limitTime,
  quote,
  RemoteAgentError,
  type RemoteErrorCode,
  type RemoteLimits,
} from '../../client/index.ts';
import {
  isInterrupted,
  isSettled,
  isTerminal,
  textOf,
  type StreamEvent,
  type StreamItem,
  type TaskState,
} from '../../protocol/index.ts';
import type { RemoteClient, RemoteConnection } from './connection.ts';
import { keeping, type RemoteNote } from './note.ts';
import { callQuestions, remoteQuestions } from './question.ts';
import { RemoteReading } from './reading.ts';
import type { RemoteTurn } from './turn.ts';

/** Maximum time to wait for the end of the stream after the last event of the turn. */
const GRACE_MS = 1000;

const ENDED_AS: Partial<Record<TaskState, RemoteErrorCode>> = {
  canceled: 'remote-canceled',
  rejected: 'remote-rejected',
};

export interface RemoteCallOptions {
  readonly limits: Required<RemoteLimits>;
  readonly continues: boolean;
  /** The span of the turn. Its `traceparent` is a header of the requests. */
  readonly span: ActiveSpan | undefined;
}

/** Makes one turn of a remote agent. */
export function remoteCall(
  connection: RemoteConnection,
  context: RunContext,
  turn: RemoteTurn,
  { limits, continues, span }: RemoteCallOptions,
) {
  const reading = new RemoteReading(limits, turn);
  /**
   * The lifetime of the connections. It continues after an abort of the run, so that the remote task can be canceled.
   */
  const lifetime = new Lifetime();
  /** The signal that is aborted when the run or the lifetime is aborted. */
  const over = AbortSignal.any([context.signal, lifetime.signal]);
  /** The template of all partial events. Its id is also the id of the complete event. */
  const piece = context.event({ partial: true });
  /** Whether the remote agent has responded to the message. */
  let received = false;
  /** Whether the turn of the remote agent has ended. */
  let complete = false;
  let items: AsyncIterator<StreamItem> | undefined;
  /** The next item of the stream, or undefined if no item is awaited. */
  let pending: Promise<IteratorResult<StreamItem, unknown>> | undefined;

  /**
   * Yields the events of the turn. If the turn fails or the caller stops the iteration, the remote task is usually
   * canceled (see `abandon`).
   */
  async function* events(): AsyncGenerator<Event> {
    let client: RemoteClient | undefined;
    try {
      limitTime(lifetime, limits);
      client = await connect();
      limitSilence(lifetime, limits);
      yield* follow(client);
      complete = true;
    } finally {
      lifetime.release();
      if (client && !complete) await abandon(client);
      lifetime.end(new ConnectionError('closed', 'the turn has ended'));
      // The result is not awaited, because the remote agent may be slow to close the stream.
      items?.return?.().catch(() => undefined);
    }
    yield* outcome();
  }

  /** Returns the error event that ends the run. */
  function failure({ code, message }: RemoteAgentError): Event {
    const fields: EventFields = { error: { code, message } };
    // If the remote agent has not responded, the event has no `RemoteNote`. So the next turn sends the message again.
    if (!received) return context.event(fields);
    const { state = 'unknown' } = reading;
    return keep(fields, isSettled(state) && !isInterrupted(state) ? state : 'canceled');
  }

  /** Connects to the remote agent. If the agent's card must be fetched, this may take at most `quietMs`. */
  function connect(): Promise<RemoteClient> {
    const { quietMs } = limits;
    const late = `it did not send its card within ${quietMs} ms`;
    lifetime.idleTimeout(quietMs, () => new RemoteAgentError('remote-timeout', late));
    return raceAbort(connection.open(context, over), over);
  }

  function headersFor({ endpoint }: RemoteClient): Readonly<Record<string, string>> | undefined {
    const transport = endpoint?.binding === 'GRPC' ? 'http2' : 'fetch';
    const traceparent = span?.traceparentFor(transport);
    return traceparent === undefined ? undefined : { traceparent };
  }

  function open(client: RemoteClient): AsyncIterator<StreamItem> {
    const { parts, messageId, taskId, contextId } = turn;
    const { signal } = lifetime;
    const options = { signal, headers: headersFor(client), polls: true };
    if (!parts) {
      if (taskId === undefined) throw new TypeError('only a task can be followed');
      return client.resubscribe(taskId, options)[Symbol.asyncIterator]();
    }
    const streams = client.card.capabilities.streaming === true;
    // A message that starts a task does not wait for the end of the turn, because the id of the task is needed at once.
    // Without the id, the task can be neither resumed nor canceled.
    const blocking = streams ? {} : { blocking: taskId !== undefined };
    const stream = client.stream(
      { messageId, parts: [...parts] },
      {
        ...options,
        taskId,
        contextId,
        configuration: { historyLength: 0, ...blocking },
        // A message to an existing task is sent again if the connection is refused. The remote agent may be restarting.
        retrySend: (error) => taskId !== undefined && wasRefused(error),
      },
    );
    return stream[Symbol.asyncIterator]();
  }

  async function* follow(client: RemoteClient): AsyncGenerator<Event> {
    const stream = (items = open(client));
    let noted = false;
    for (;;) {
      pending = stream.next();
      const next = reading.over
        ? Promise.race([pending, pause(GRACE_MS, over).then(() => undefined)])
        : pending;
      const step = await raceAbort(next, over);
      pending = undefined;
      if (step === undefined || step.done === true) return;
      received = true;
      const { parts, progress } = reading.take(step.value.event);
      if (!progress) continue;
      lifetime.wait(false);
      if (!noted && !reading.over && reading.guard.taskId !== undefined) {
        noted = true;
        yield keep({}, 'working');
      }
      if (parts.length > 0) yield { ...piece, content: { role: 'model', parts } };
      // After the last event, only GRACE_MS limits the wait.
      lifetime.wait(!reading.over);
    }
  }

  function* outcome(): Generator<Event> {
    const { state } = reading;
    if (state === undefined || !isSettled(state)) {
      throw new RemoteAgentError('remote-invalid', 'its stream ended before its task had ended');
    }
    const parts = reading.whole();
    const content = { role: 'model', parts } as const;
    const { id } = piece;
    // gemini-cli's server ends a turn with `input-required` even if it asks nothing. It then waits for the next prompt.
    const asksNothing = isInterrupted(state) && reading.waiting?.calls.length === 0;
    if (state === 'completed' || asksNothing) {
      yield { ...keep({ content }, state), id };
      return;
    }
    if (!isInterrupted(state)) {
      const said = quote(textOf([...reading.lastMessage]));
      const suffix = said === '' ? '' : `, with the message: ${said}`;
      const code = ENDED_AS[state] ?? 'remote-failed';
      throw new RemoteAgentError(code, `its task ended in the state ${state}${suffix}`);
    }
    if (parts.length > 0) yield { ...context.event({ content }), id };
    yield asking(state);
  }

  /**
   * Returns one event with all questions of the remote agent. So the questions and the note are stored together or
   * not at all.
   */
  function asking(state: TaskState): Event {
    const { waiting, lastMessage } = reading;
    const asked = waiting
      ? callQuestions(waiting.calls)
      : remoteQuestions(lastMessage, state === 'auth-required');
    const named = asked.map(({ remote, options, question }, at) => {
      const id = `${turn.messageId}-${at}`;
      return { note: { id, remote, options }, event: context.question(id, question) };
    });
    const notes = named.map(({ note }) => note);
    const questions = named.flatMap(({ event }) => event.actions.questions ?? []);
    const { metadata, actions } = noteOf(state, notes);
    return context.event({ metadata, actions: { ...actions, questions } });
  }

  function keep(fields: EventFields, state: TaskState): Event {
    return context.event({ ...fields, ...noteOf(state) });
  }

  function noteOf(state: TaskState, questions?: RemoteNote['questions']) {
    const { taskId, contextId } = reading.guard;
    const isOpen = isInterrupted(state) || (continues && state === 'completed');
    const said = isOpen ? reading.content.said() : isSettled(state) ? undefined : turn.said;
    const note = { taskId, contextId, state, seen: turn.seen, said, questions };
    return keeping(note, context.path);
  }

  /**
   * Cancels the remote task, unless it has ended or its id is unknown. This takes at most `cancelMs`. If the remote
   * agent has not responded and the run was not aborted, the message can be sent again, so nothing is canceled.
   */
  async function abandon(client: RemoteClient): Promise<void> {
    const { state = 'unknown' } = reading;
    if (reading.over && isTerminal(state)) return;
    const { aborted } = context.signal;
    const deadline = AbortSignal.timeout(limits.cancelMs);
    let id = received || aborted ? reading.guard.taskId : undefined;
    if (id === undefined && aborted && pending) {
      // The message may have started a task. The id of this task is in the first event.
      const first = await raceAbort(pending, deadline).catch(() => undefined);
      id = first?.done === true || first === undefined ? undefined : taskIdOf(first.value.event);
    }
    if (id === undefined) return;
    const canceled = client.cancel(id, { signal: deadline, headers: headersFor(client) });
    await raceAbort(canceled, deadline).catch(() => undefined);
  }

  return {
    events,
    failure,
    get received() {
      return received;
    },
  };
}

function taskIdOf(event: StreamEvent): string | undefined {
  if (event.kind === 'message') return undefined;
  return event.kind === 'task' ? event.id : event.taskId;
}

/**
 * Returns whether the connection was refused. In this case nothing was sent, so it is safe to send the message again.
 */
function wasRefused(error: ConnectionError): boolean {
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
    if (systemCode(cause) === 'ECONNREFUSED') return true;
  }
  return false;
}
