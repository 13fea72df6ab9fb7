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

export class RemoteCall {
  readonly #connection: RemoteConnection;
  readonly #context: RunContext;
  readonly #turn: RemoteTurn;
  readonly #options: RemoteCallOptions;
  readonly #reading: RemoteReading;
  /**
   * The lifetime of the connections. It continues after an abort of the run, so that the remote task can be canceled.
   */
  readonly #lifetime = new Lifetime();
  /** The signal that is aborted when the run or the lifetime is aborted. */
  readonly #over: AbortSignal;
  /** The template of all partial events. Its id is also the id of the complete event. */
  readonly #piece: Event;
  #received = false;
  /** Whether the turn of the remote agent has ended. */
  #complete = false;
  #items: AsyncIterator<StreamItem> | undefined;
  /** The next item of the stream, or undefined if no item is awaited. */
  #pending: Promise<IteratorResult<StreamItem, unknown>> | undefined;

  constructor(
    connection: RemoteConnection,
    context: RunContext,
    turn: RemoteTurn,
    options: RemoteCallOptions,
  ) {
    this.#connection = connection;
    this.#context = context;
    this.#piece = context.event({ partial: true });
    this.#turn = turn;
    this.#options = options;
    this.#reading = new RemoteReading(options.limits, turn);
    this.#over = AbortSignal.any([context.signal, this.#lifetime.signal]);
  }

  /** Whether the remote agent has responded to the message. */
  get received(): boolean {
    return this.#received;
  }

  /**
   * Yields the events of the turn. If the turn fails or the caller stops the iteration, the remote task is usually
   * canceled (see `#abandon`).
   */
  async *events(): AsyncGenerator<Event> {
    const lifetime = this.#lifetime;
    let client: RemoteClient | undefined;
    try {
      limitTime(lifetime, this.#options.limits);
      client = await this.#connect();
      limitSilence(lifetime, this.#options.limits);
      yield* this.#follow(client);
      this.#complete = true;
    } finally {
      lifetime.release();
      if (client && !this.#complete) await this.#abandon(client);
      lifetime.end(new ConnectionError('closed', 'the turn has ended'));
      // The result is not awaited, because the remote agent may be slow to close the stream.
      this.#items?.return?.().catch(() => undefined);
    }
    yield* this.#outcome();
  }

  /** Returns the error event that ends the run. */
  failure({ code, message }: RemoteAgentError): Event {
    const fields: EventFields = { error: { code, message } };
    // If the remote agent has not responded, the event has no `RemoteNote`. So the next turn sends the message again.
    if (!this.#received) return this.#context.event(fields);
    const { state = 'unknown' } = this.#reading;
    return this.#keep(fields, isSettled(state) && !isInterrupted(state) ? state : 'canceled');
  }

  /** Connects to the remote agent. If the agent's card must be fetched, this may take at most `quietMs`. */
  #connect(): Promise<RemoteClient> {
    const { quietMs } = this.#options.limits;
    const late = `it did not send its card within ${quietMs} ms`;
    this.#lifetime.idleTimeout(quietMs, () => new RemoteAgentError('remote-timeout', late));
    return raceAbort(this.#connection.open(this.#context, this.#over), this.#over);
  }

  #headersFor({ endpoint }: RemoteClient): Readonly<Record<string, string>> | undefined {
    const transport = endpoint?.binding === 'GRPC' ? 'http2' : 'fetch';
    const traceparent = this.#options.span?.traceparentFor(transport);
    return traceparent === undefined ? undefined : { traceparent };
  }

  #open(client: RemoteClient): AsyncIterator<StreamItem> {
    const { parts, messageId, taskId, contextId } = this.#turn;
    const { signal } = this.#lifetime;
    const options = { signal, headers: this.#headersFor(client), polls: true };
    if (!parts) {
      if (taskId === undefined) throw new TypeError('only a task can be followed');
      return client.resubscribe(taskId, options)[Symbol.asyncIterator]();
    }
    const streams = client.card.capabilities.streaming === true;
    // The id of a new task is needed at once. Without the id, the task can be neither resumed nor canceled.
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

  async *#follow(client: RemoteClient): AsyncGenerator<Event> {
    const reading = this.#reading;
    const lifetime = this.#lifetime;
    const items = (this.#items = this.#open(client));
    let noted = false;
    for (;;) {
      this.#pending = items.next();
      const next = reading.over
        ? Promise.race([this.#pending, pause(GRACE_MS, this.#over).then(() => undefined)])
        : this.#pending;
      const step = await raceAbort(next, this.#over);
      this.#pending = undefined;
      if (step === undefined || step.done === true) return;
      this.#received = true;
      const { parts, progress } = reading.take(step.value.event);
      if (!progress) continue;
      lifetime.wait(false);
      if (!noted && !reading.over && reading.taskId !== undefined) {
        noted = true;
        yield this.#keep({}, 'working');
      }
      if (parts.length > 0) yield { ...this.#piece, content: { role: 'model', parts } };
      // After the last event, only the grace period limits the wait.
      lifetime.wait(!reading.over);
    }
  }

  *#outcome(): Generator<Event> {
    const { state } = this.#reading;
    if (state === undefined || !isSettled(state)) {
      throw new RemoteAgentError('remote-invalid', 'its stream ended before its task had ended');
    }
    const parts = this.#reading.whole();
    const content = { role: 'model', parts } as const;
    const { id } = this.#piece;
    // An agent that asks nothing is waiting for the next prompt. gemini-cli's server ends every turn in this way.
    const asksNothing = isInterrupted(state) && this.#reading.waitingCalls?.length === 0;
    if (state === 'completed' || asksNothing) {
      yield { ...this.#keep({ content }, state), id };
      return;
    }
    if (!isInterrupted(state)) {
      const said = quote(textOf([...this.#reading.lastMessage]));
      const suffix = said === '' ? '' : `, with the message: ${said}`;
      const code = ENDED_AS[state] ?? 'remote-failed';
      throw new RemoteAgentError(code, `its task ended in the state ${state}${suffix}`);
    }
    if (parts.length > 0) yield { ...this.#context.event({ content }), id };
    yield this.#asking(state);
  }

  /**
   * Returns one event with all questions of the remote agent. So the questions and the note are stored together or
   * not at all.
   */
  #asking(state: TaskState): Event {
    const { waitingCalls, lastMessage } = this.#reading;
    const asked = waitingCalls
      ? callQuestions(waitingCalls)
      : remoteQuestions(lastMessage, state === 'auth-required');
    const named = asked.map(({ remote, options, question }, at) => {
      const id = `${this.#turn.messageId}-${at}`;
      return { note: { id, remote, options }, event: this.#context.question(id, question) };
    });
    const notes = named.map(({ note }) => note);
    const questions = named.flatMap(({ event }) => event.actions.questions ?? []);
    const { metadata, actions } = this.#note(state, notes);
    return this.#context.event({ metadata, actions: { ...actions, questions } });
  }

  #keep(fields: EventFields, state: TaskState): Event {
    return this.#context.event({ ...fields, ...this.#note(state) });
  }

  #note(state: TaskState, questions?: RemoteNote['questions']) {
    const { taskId, contextId } = this.#reading;
    const continues = isInterrupted(state) || (this.#options.continues && state === 'completed');
    const said = continues ? this.#reading.said() : isSettled(state) ? undefined : this.#turn.said;
    const note = { taskId, contextId, state, seen: this.#turn.seen, said, questions };
    return keeping(note, this.#context.path);
  }

  /**
   * Cancels the remote task, unless it has ended or its id is unknown. This takes at most `cancelMs`. If the remote
   * agent has not responded and the run was not aborted, the message can be sent again, so nothing is canceled.
   */
  async #abandon(client: RemoteClient): Promise<void> {
    const { over, state = 'unknown' } = this.#reading;
    if (over && isTerminal(state)) return;
    const { aborted } = this.#context.signal;
    const deadline = AbortSignal.timeout(this.#options.limits.cancelMs);
    let id = this.#received || aborted ? this.#reading.taskId : undefined;
    if (id === undefined && aborted && this.#pending) {
      // The message may have started a task. The id of this task is in the first event.
      const first = await raceAbort(this.#pending, deadline).catch(() => undefined);
      id = first?.done === true || first === undefined ? undefined : taskIdOf(first.value.event);
    }
    if (id === undefined) return;
    const canceled = client.cancel(id, { signal: deadline, headers: this.#headersFor(client) });
    await raceAbort(canceled, deadline).catch(() => undefined);
  }
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
