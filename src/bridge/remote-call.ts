/** One turn of a remote agent: from a message to its answer, its question, or its failure. */
import { raceAbort } from '../base/index.ts';
import type { RunContext, Event, EventFields } from '../agent/index.ts';
import { ConnectionError, type AgentClient } from '../client/index.ts';
import {
  isInterrupted,
  isSettled,
  isTerminal,
  textOf,
  type StreamEvent,
  type StreamItem,
  type TaskState,
} from '../protocol/index.ts';
import type { RemoteConnection } from './remote-connection.ts';
import { remoteItems } from './remote-items.ts';
import {
  quote,
  RemoteAgentError,
  type RemoteErrorCode,
  type RemoteLimits,
} from './remote-limits.ts';
import { keeping, type RemoteNote } from './remote-note.ts';
import { remoteQuestions } from './remote-question.ts';
import { RemoteReading } from './remote-reading.ts';
import type { RemoteTurn } from './remote-turn.ts';

/** How long a stream may stay open when all is said. */
const GRACE_MS = 1000;

type Step = IteratorResult<StreamItem, unknown>;

export class RemoteCall {
  readonly #connection: RemoteConnection;
  readonly #context: RunContext;
  readonly #turn: RemoteTurn;
  readonly #limits: Required<RemoteLimits>;
  readonly #continues: boolean;
  readonly #reading: RemoteReading;
  /** Ends the connections; its reason is why. */
  readonly #stop = new AbortController();
  /** Aborted with the run, or by us. */
  readonly #over: AbortSignal;
  /** What is shown meanwhile has the id of the whole answer. */
  readonly #piece: Event;
  #received = false;
  /** The remote has said all that it had to say. */
  #complete = false;
  /** The next item, while it is waited for. */
  #pending: Promise<Step> | undefined;

  constructor(
    connection: RemoteConnection,
    context: RunContext,
    turn: RemoteTurn,
    options: { readonly limits: Required<RemoteLimits>; readonly continues: boolean },
  ) {
    this.#connection = connection;
    this.#context = context;
    this.#piece = context.event({ partial: true });
    this.#turn = turn;
    this.#limits = options.limits;
    this.#continues = options.continues;
    this.#reading = new RemoteReading(options.limits, turn);
    this.#over = AbortSignal.any([context.signal, this.#stop.signal]);
  }

  /** The remote has taken the message, or claims to have. */
  get received(): boolean {
    return this.#received;
  }

  /** What the remote says. To leave it cancels the remote's task, unless that is settled. */
  async *events(): AsyncGenerator<Event> {
    const { totalMs } = this.#limits;
    const late = new RemoteAgentError('remote-timeout', `it was not done within ${totalMs} ms`);
    const timer = setTimeout(() => this.#stop.abort(late), totalMs);
    let client: AgentClient | undefined;
    try {
      client = await this.#opened();
      yield* this.#follow(client);
      this.#complete = true;
    } finally {
      clearTimeout(timer);
      if (client && !this.#complete) await this.#abandon(client);
      this.#stop.abort(new ConnectionError('closed', 'the answer is no longer wanted'));
    }
    yield* this.#outcome();
  }

  /** The event that ends the run. */
  failure({ code, message }: RemoteAgentError): Event {
    const fields: EventFields = { error: { code, message } };
    // What never reached the remote is still to be said.
    if (!this.#received) return this.#context.event(fields);
    const { state = 'unknown' } = this.#reading;
    return this.#keep(fields, isSettled(state) && !isInterrupted(state) ? state : 'canceled');
  }

  /** Also a card is waited for no longer than anything else. */
  async #opened(): Promise<AgentClient> {
    const { quietMs } = this.#limits;
    const late = new RemoteAgentError(
      'remote-timeout',
      `its card did not come within ${quietMs} ms`,
    );
    const timer = setTimeout(() => this.#stop.abort(late), quietMs);
    try {
      return await raceAbort(this.#connection.open(this.#context, this.#stop), this.#over);
    } finally {
      clearTimeout(timer);
    }
  }

  async *#follow(client: AgentClient): AsyncGenerator<Event> {
    const reading = this.#reading;
    const { quietMs } = this.#limits;
    const items = remoteItems(client, this.#turn, reading, this.#stop.signal);
    let left = quietMs;
    let noted = false;
    try {
      for (;;) {
        const since = performance.now();
        this.#pending = items.next();
        const step = await this.#within(this.#pending, reading.over ? GRACE_MS : left);
        this.#pending = undefined;
        if (step === undefined && reading.over) return;
        if (step === undefined) {
          throw new RemoteAgentError('remote-timeout', `nothing new came within ${quietMs} ms`);
        }
        if (step.done === true) return;
        this.#received = true;
        const { parts, progress } = reading.take(step.value.event);
        left = progress ? quietMs : left - (performance.now() - since);
        if (!noted && !reading.over && reading.taskId !== undefined) {
          noted = true;
          yield this.#keep({}, 'working');
        }
        if (parts.length > 0) {
          yield { ...this.#piece, content: { role: 'model', parts } };
        }
      }
    } finally {
      // Not waited for: it may be waiting itself, until the connections are ended.
      items.return(undefined).catch(() => undefined);
    }
  }

  /** Undefined when it takes longer. An abort, the run's or ours, ends the wait at once. */
  async #within(step: Promise<Step>, ms: number): Promise<Step | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, Math.max(0, ms), undefined);
    });
    try {
      return await raceAbort(Promise.race([step, late]), this.#over);
    } finally {
      clearTimeout(timer);
    }
  }

  *#outcome(): Generator<Event> {
    const { state } = this.#reading;
    if (state === undefined || !isSettled(state)) {
      throw new RemoteAgentError('remote-invalid', 'it ended without having finished');
    }
    const parts = this.#reading.whole();
    const content = { role: 'model', parts } as const;
    const { id } = this.#piece;
    if (state === 'completed') {
      yield { ...this.#keep({ content }, state), id };
      return;
    }
    if (!isInterrupted(state)) throw this.#endedAs(state);
    if (parts.length > 0) yield { ...this.#context.event({ content }), id };
    yield this.#asking(state);
  }

  /** All that the remote asks, in one event: either all of it is stored, with the note, or nothing. */
  #asking(state: TaskState): Event {
    const asked = remoteQuestions(this.#reading.lastWords, state === 'auth-required');
    const named = asked.map(({ remote, question }, at) => {
      const id = `${this.#turn.messageId}-${at}`;
      return { note: { id, remote }, event: this.#context.question(id, question) };
    });
    const notes = named.map(({ note }) => note);
    const questions = named.flatMap(({ event }) => event.actions.questions ?? []);
    const { metadata, actions } = this.#note(state, notes);
    const fields = { metadata, actions: { ...actions, questions } };
    return this.#context.event(fields);
  }

  #endedAs(state: TaskState): RemoteAgentError {
    const said = quote(textOf([...this.#reading.lastWords]));
    const words = said === '' ? '' : `, and said: ${said}`;
    const codes: Partial<Record<TaskState, RemoteErrorCode>> = {
      canceled: 'remote-canceled',
      rejected: 'remote-rejected',
    };
    const code = codes[state] ?? 'remote-failed';
    return new RemoteAgentError(code, `its task ended as ${state}${words}`);
  }

  #keep(fields: EventFields, state: TaskState): Event {
    return this.#context.event({ ...fields, ...this.#note(state) });
  }

  #note(state: TaskState, questions?: RemoteNote['questions']) {
    const { taskId, contextId } = this.#reading;
    const goesOn = isInterrupted(state) || (this.#continues && state === 'completed');
    const said = goesOn ? this.#reading.said() : isSettled(state) ? undefined : this.#turn.said;
    const note = { taskId, contextId, state, seen: this.#turn.seen, said, questions };
    return keeping(note, this.#context.path);
  }

  /** Tells the remote that its work is no longer wanted, within bounds. */
  async #abandon(client: AgentClient): Promise<void> {
    const { over, state = 'unknown' } = this.#reading;
    if (over && isTerminal(state)) return;
    const { aborted } = this.#context.signal;
    const deadline = AbortSignal.timeout(this.#limits.cancelMs);
    let id = this.#received || aborted ? this.#reading.taskId : undefined;
    if (id === undefined && aborted && this.#pending) {
      // The message is under way: which task it began, the first event says.
      const first = await raceAbort(this.#pending, deadline).catch(() => undefined);
      id = first?.done === true || first === undefined ? undefined : taskIdOf(first.value.event);
    }
    if (id === undefined) return;
    await raceAbort(client.cancel(id, { signal: deadline }), deadline).catch(() => undefined);
  }
}

function taskIdOf(event: StreamEvent): string | undefined {
  if (event.kind === 'message') return undefined;
  return event.kind === 'task' ? event.id : event.taskId;
}
