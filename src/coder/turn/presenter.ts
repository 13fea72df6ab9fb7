/**
 * Converts the events of a run to status updates of the development-tool extension. The metadata of a status update
 * contains the kind of the update. An execution of a task may use several presenters. For example, if answers arrive
 * while a command runs, the turn continues with a new presenter after the command.
 *
 * - Text and thoughts are collected before they are sent (speech.ts). The text that a helper streams is shown as the
 *   output of the `task` call that started the helper.
 * - A call is sent in full each time it changes: PENDING when it needs approval, waits for earlier calls or begins,
 *   EXECUTING with its output, then SUCCEEDED, FAILED or CANCELLED.
 */
import { randomUUIDv7 } from 'node:crypto';
import {
  functionCalls,
  functionResponses,
  delegatedIn,
  type Answer,
  type DelegatedEvent,
  type FunctionCallPart,
  type FunctionResponsePart,
  type Event,
  type OpenRun,
  type Question,
  type Session,
} from '../../agent/index.ts';
import { defined, type JsonObject, type JsonValue } from '../../base/index.ts';
import type { TurnPresenter } from '../../bridge/index.ts';
import {
  extensionMetadata,
  hasEnded,
  questionId,
  type DevelopmentToolEvent,
  type ErrorDetails,
  type HelperMark,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';
import type { Message, Part, TaskState } from '../../protocol/index.ts';
import type { ExecutionContext, Logger, StatusEvent } from '../../tasks/index.ts';
import { questionText, requestOf } from '../approval/confirmation-request.ts';
import { speakerOf } from '../session/task-tool.ts';
import { MODEL_KEY } from '../session/session-model.ts';
import { sessionStatus } from '../session/session-status.ts';
import { APP, type WorkspaceAgent } from '../session/workspace-agent.ts';
import { fullReason, publicCode, publicReason } from '../session/failure.ts';
import { AnswerText, missingUpdates } from './answer-text.ts';
import { CallStates } from './call-states.ts';
import {
  announced,
  callError,
  liveContent,
  LivePace,
  outputOf,
  quiet,
  UNKNOWN,
  unreported,
} from './call-updates.ts';
import { HelperSpeech, ShownImages, Speech, type Utterance } from './speech.ts';

/** Maximum number of characters of a running call's output. Only the end of a longer output is shown. */
const MAX_LIVE = 8 * 1024;

interface PresenterOptions {
  readonly context: Pick<ExecutionContext, 'task' | 'turn' | 'resumed'>;
  /**
   * Whether the client gets the calls as data, with the extension or in gemini-cli's dialect. Such a client does not
   * need the questions in words.
   */
  readonly isActive: boolean;
  /** Whether the agent serves a live session. */
  readonly isLive: boolean;
  /** The workspace's agent, or undefined if it cannot be opened. */
  readonly agent:
    | Pick<WorkspaceAgent, 'model' | 'modelOf' | 'mode' | 'loosest' | 'describe' | 'priceOf'>
    | undefined;
  /** The run, or undefined if its session cannot be read. */
  readonly run: OpenRun | undefined;
  /** The name of the session's model at the start of the turn. */
  readonly model: string;
  /** Called when the session has switched to another model. */
  onModel?(name: string): void;
  readonly logger: Logger;
}

export class DevelopmentToolPresenter implements TurnPresenter {
  readonly #options: PresenterOptions;
  readonly #calls = new Map<string, ToolCall>();
  /** The ids of calls that a person has declined. */
  readonly #declined = new Set<string>();
  /** The ids of calls that are in the task's log. */
  readonly #told = new Set<string>();
  /** The ids of calls that had ended in the task's log before this execution. */
  readonly #ended = new Set<string>();
  readonly #pace = new LivePace();
  /** The correlation ids of the confirmation requests that are in the task's log. */
  readonly #asked = new Set<string>();
  /**
   * The helpers that work for this turn, by the id of their `task` call. An MCP server that asks a question has an
   * entry too, by the id of the call of its tool.
   */
  readonly #helpers = new Map<string, HelperSpeech>();
  readonly #images = new ShownImages();
  readonly #speech = new Speech(this.#images);
  #answer: AnswerText;
  /** The reason why a slash command failed. Undefined if no slash command failed. */
  #problem: string | undefined;
  #model: string;
  /** The session after another run has changed it, or undefined if it has not changed. */
  #changed: Session | undefined;

  constructor(options: PresenterOptions) {
    this.#options = options;
    this.#model = options.model;
    this.#answer = new AnswerText(options.context);
  }

  start(): StatusEvent[] {
    const { turn, resumed } = this.#options.context;
    return turn.length === 1 || resumed ? [this.#state('working')] : [];
  }

  /**
   * Returns the updates that are missing in the task's log. Events are stored in the session before they are shown in
   * the task. If the process died in between, the last updates are missing: text, calls that have ended, and questions
   * that were asked.
   */
  async *recall(
    run: Pick<OpenRun, 'events' | 'questions' | 'delegated'>,
  ): AsyncGenerator<StatusEvent> {
    const { events, questions } = run;
    const { calls } = new CallStates(this.#options.context.task);
    // During the replay, `this.#answer` is a temporary object, and its numbers are not used. `missing` numbers the
    // texts that are missing in the log with `answer`. So their numbers continue the numbers in the log.
    const answer = this.#answer;
    this.#answer = new AnswerText(this.#options.context);
    const missing = missingUpdates(calls, questions, answer);
    for (const call of calls.values()) {
      this.#told.add(call.tool_call_id);
      if (call.correlationId !== undefined) this.#asked.add(call.correlationId);
      // Calls that have not ended are taken from the task's log, because the calls of helpers are not in this session.
      if (hasEnded(call)) this.#ended.add(call.tool_call_id);
      else this.#calls.set(call.tool_call_id, call);
    }
    for (const event of [...events, ...(await run.delegated())]) {
      yield* this.present(event).flatMap(missing);
    }
    this.#answer = answer;
    // The replay may have added a confirmation request that was already answered. If the log shows the call as PENDING
    // without a request, the call waits only for earlier calls. In this case, the request is removed again.
    for (const { tool_call_id: id, status, confirmation_request } of calls.values()) {
      const call = this.#calls.get(id);
      if (call && status === 'PENDING' && !confirmation_request)
        this.#calls.set(id, announced(call));
    }
  }

  /**
   * Returns the final updates of the calls in the task's log that have not ended, so that every call ends. For example,
   * a call has not ended if its helper was interrupted, or if its session was lost.
   */
  close(error: ErrorDetails = UNKNOWN): StatusEvent[] {
    const open = [...this.#calls.values()].filter((call) => this.#told.has(call.tool_call_id));
    const status = error === UNKNOWN ? 'FAILED' : 'CANCELLED';
    return open.map((call) => {
      this.#calls.delete(call.tool_call_id);
      return this.#update({ ...quiet(call), status, error });
    });
  }

  /** Adds the extension's metadata to the task's final status, which was not created by this presenter. */
  ended(last: StatusEvent): StatusEvent {
    const { message, metadata } = last;
    const error = typeof message === 'string' ? message : undefined;
    const id = metadata?.['correlationId'];
    const correlationId = typeof id === 'string' ? id : undefined;
    const about = this.#stateMetadata({ error, correlationId, ...this.#session() });
    return { ...last, metadata: { ...metadata, ...about } };
  }

  answered(answers: readonly Answer[]): void {
    for (const { questionId, confirmed } of answers) {
      if (confirmed === false) this.#declined.add(questionId);
    }
  }

  /**
   * Called before a command runs while the turn waits for an answer. The output of the command does not complete the
   * agent's answer, so the output is not marked as the last part of the answer.
   */
  beside(): void {
    this.#speech.isBeside = true;
  }

  /** Called when another run, such as the run of a command, has changed the session. */
  changed(session: Session | undefined): void {
    this.#changed = session;
  }

  ask(questions: readonly Question[]): StatusEvent {
    const messageId = questionId(this.#options.isActive);
    const message = agentMessage(messageId, [{ kind: 'text', text: questionText(questions) }]);
    return { ...this.#state('input-required', this.#session()), message };
  }

  complete(): StatusEvent {
    return this.#state('completed', { ...this.#session(), error: this.#problem });
  }

  fail(failure: Event): StatusEvent {
    const { message, correlationId } = this.#report(failure, 'a turn failed');
    const errorCode = publicCode(failure);
    const about = { error: message, errorCode, correlationId, ...this.#session() };
    return this.#state('failed', { message, ...about });
  }

  /** Returns the update for a command that failed while the turn waits. The turn still waits. */
  commandFailed(failure: Event): StatusEvent {
    const { message: text, correlationId } = this.#report(failure, 'a command failed');
    return this.#say('TEXT_CONTENT', [{ kind: 'text', text }], { correlationId });
  }

  /** Writes the reason for a failure to the server's log. Returns the text for clients. */
  #report(failure: Event, what: string): { message: string; correlationId: string } {
    const correlationId = randomUUIDv7();
    const { context, logger, isLive } = this.#options;
    const { error, author: agent } = failure;
    const fields = { taskId: context.task.id, correlationId, code: error?.code, agent };
    logger.error({ ...fields, problem: fullReason(failure, isLive) }, what);
    const message = `${publicReason(failure)} Correlation id: ${correlationId}`;
    return { message, correlationId };
  }

  lost(message: string): StatusEvent {
    return this.#state('failed', { message, error: message });
  }

  /** Returns the session's approval mode and usage, for the status updates that end a turn or wait for an answer. */
  #session(): Pick<DevelopmentToolEvent, 'approval' | 'usage'> {
    const { run, agent } = this.#options;
    const session = this.#changed ?? run?.session;
    if (!session || !agent || !run) return {};
    const { approval, usage } = sessionStatus(session, agent, run.runId);
    return { approval, usage };
  }

  #state(
    state: TaskState,
    { message, ...more }: Partial<DevelopmentToolEvent> & { message?: string } = {},
  ): StatusEvent {
    return {
      kind: 'status-update',
      state,
      ...defined({ message }),
      metadata: this.#stateMetadata(more),
    };
  }

  #stateMetadata(more: Partial<DevelopmentToolEvent>): Record<string, unknown> {
    return this.#metadata({ ...defined(more), kind: 'STATE_CHANGE' });
  }

  present(event: Event): StatusEvent[] {
    const delegated = delegatedIn(event);
    if (delegated) return this.#ofHelper(delegated);
    const { content, actions, partial, author, metadata } = event;
    this.#noteModel(actions.stateDelta?.[MODEL_KEY]);
    if (typeof metadata?.['problem'] === 'string') this.#problem = metadata['problem'];
    const out: StatusEvent[] = [];
    if (author === APP && content?.role === 'model') {
      if (partial === true) out.push(...this.#utter(this.#speech.piece(event)));
      else {
        out.push(...this.#utter(this.#speech.whole(event)));
        this.#note(functionCalls(content));
      }
    }
    return [...out, ...this.#ofCalls(event)];
  }

  /**
   * Presents an event of a helper. The helper's calls are presented like other calls of the task, but with the helper's
   * name.
   */
  #ofHelper({ callId, event }: DelegatedEvent): StatusEvent[] {
    const helper = this.#helperOf(callId);
    const out: StatusEvent[] = [];
    if (event.content?.role === 'model') {
      const { thoughts, text } = helper.hear(event);
      for (const thought of thoughts) {
        const parts: Part[] = [{ kind: 'data', data: thought }];
        out.push(...this.flush(), this.#say('THOUGHT', parts, helper.mark));
      }
      if (event.partial === true) {
        if (text !== '') out.push(...this.#progress(callId, text));
      } else {
        const calls = functionCalls(event.content);
        if (calls.length > 0) out.push(...this.#endLive(callId));
        this.#note(calls, helper.mark);
      }
    }
    return [...out, ...this.#ofCalls(event)];
  }

  /** Removes the live output of a `task` call after its helper has completed a text and calls tools. */
  #endLive(callId: string): StatusEvent[] {
    const call = this.#calls.get(callId);
    if (call?.live_content === undefined) return [];
    const { live_content: _, ...rest } = call;
    this.#calls.set(callId, rest);
    return [this.#update(rest)];
  }

  #helperOf(callId: string): HelperSpeech {
    let helper = this.#helpers.get(callId);
    if (!helper) {
      const agent = speakerOf(this.#calls.get(callId));
      const mark = { agent, parentToolCallId: callId };
      helper = new HelperSpeech(mark, this.#model);
      this.#helpers.set(callId, helper);
    }
    return helper;
  }

  /** Presents the questions, the progress and the responses of calls. */
  #ofCalls({ content, actions }: Event): StatusEvent[] {
    const out: StatusEvent[] = [];
    this.answered(actions.answers ?? []);
    const { questions = [], waits = [], progress } = actions;
    for (const question of questions) out.push(...this.flush(), ...this.#ask(question));
    for (const id of waits) out.push(...this.flush(), ...this.#wait(id));
    if (progress) out.push(...this.#progress(progress.callId, progress.value));
    for (const response of functionResponses(content))
      out.push(...this.flush(), ...this.#settle(response));
    return out;
  }

  /** Records that a command has set the session's model. The value null stands for the model of the workspace. */
  #noteModel(chosen: JsonValue | undefined): void {
    if (chosen === undefined) return;
    this.#model =
      typeof chosen === 'string' ? chosen : (this.#options.agent?.model.name ?? this.#model);
    this.#options.onModel?.(this.#model);
  }

  get pauseAfterMs(): number | undefined {
    return this.#speech.pauseMs;
  }

  pause(): StatusEvent[] {
    return this.#utter(this.#speech.pause());
  }

  /** Returns updates for the text and the thought that are collected and not sent yet. */
  flush(): StatusEvent[] {
    return this.#utter(this.#speech.flush());
  }

  #utter(utterances: readonly Utterance[]): StatusEvent[] {
    return utterances.map(({ kind, part, isLast }) => this.#say(kind, [part], {}, isLast));
  }

  #note(calls: readonly FunctionCallPart[], mark: HelperMark = {}): void {
    for (const { id, name, args } of calls) {
      // A call that has not ended in the task's log is already known, in its latest state.
      if (this.#calls.has(id)) continue;
      const description = this.#options.agent?.describe(name, args);
      this.#calls.set(id, { ...newCall(id, name, args), ...defined({ description }), ...mark });
    }
  }

  #ask(question: Question): StatusEvent[] {
    const { id, callId, tool = question.agent, args = {} } = question;
    // The session contains the questions of MCP servers, but only the task's log records that such a question has
    // ended.
    if (this.#ended.has(id)) return [];
    // A question of a helper or an MCP server is shown as a separate call with the name of the helper or the server.
    // The session contains the question, but not this call.
    const mark = callId === undefined ? {} : this.#helperOf(id.slice(0, id.lastIndexOf('/'))).mark;
    this.#note([{ kind: 'function-call', id, name: tool, args }], mark);
    const { request, correlationId } = requestOf(question);
    const call: ToolCall = {
      ...announced(this.#calls.get(id)!),
      status: 'PENDING',
      description: question.text,
      confirmation_request: request,
      correlationId,
    };
    this.#calls.set(id, call);
    this.#told.add(id);
    // A resumed run emits its open questions again, but the log already contains them.
    if (this.#asked.has(correlationId)) return [];
    this.#asked.add(correlationId);
    return [this.#update(call)];
  }

  /**
   * Shows that a call waits for earlier calls to end. Such a call is PENDING and needs no answer. Earlier calls that
   * have not been shown yet are shown before it.
   */
  #wait(callId: string): StatusEvent[] {
    const call = this.#calls.get(callId);
    if (!call) return [];
    const waiting: ToolCall = { ...announced(call), status: 'PENDING' };
    this.#calls.set(callId, waiting);
    if (call.confirmation_request) return [this.#update(waiting)];
    const known = [...this.#calls.values()];
    return known.slice(0, known.indexOf(waiting) + 1).flatMap((each) => this.#begin(each));
  }

  #progress(callId: string, value: JsonValue): StatusEvent[] {
    const call = this.#calls.get(callId);
    if (!call) return [];
    const live = liveContent(value)?.slice(-MAX_LIVE);
    if (call.status === 'EXECUTING' && !this.#pace.isDue(call, live)) return [];
    const running: ToolCall = {
      ...announced(call),
      status: 'EXECUTING',
      ...defined({ live_content: live }),
    };
    this.#calls.set(callId, running);
    return [...this.flush(), ...this.#begin(call), this.#update(running)];
  }

  /** Shows a call that needs no approval as PENDING once, so that clients see every state of the call. */
  #begin(call: ToolCall): StatusEvent[] {
    if (this.#told.has(call.tool_call_id)) return [];
    this.#told.add(call.tool_call_id);
    return [this.#update({ ...announced(call), status: 'PENDING' })];
  }

  #settle(response: FunctionResponsePart): StatusEvent[] {
    const call = this.#calls.get(response.id) ?? newCall(response.id, response.name, {});
    // When a helper ends, its open calls end too. Each of them gets a response here.
    const open = [...this.#calls.values()].filter(
      ({ parentToolCallId }) => parentToolCallId === response.id,
    );
    const ended = open.flatMap((child) => this.#settle(unreported(child, response)));
    this.#calls.delete(response.id);
    this.#pace.end(response.id);
    this.#helpers.delete(response.id);
    const isCanceled = response.error?.type === 'stopped' || this.#declined.has(response.id);
    const outcome: Pick<ToolCall, 'status' | 'error' | 'output'> =
      response.isError === true
        ? { status: isCanceled ? 'CANCELLED' : 'FAILED', error: callError(response) }
        : { status: 'SUCCEEDED', output: outputOf(response) };
    const settled = this.#update({ ...quiet(call), ...outcome }, this.#images.of(response.parts));
    return [...ended, ...this.#begin(call), settled];
  }

  #update(call: ToolCall, images: readonly Part[] = []): StatusEvent {
    const { agent, parentToolCallId } = call;
    const correlationId = call.confirmation_request ? call.correlationId : undefined;
    const more = defined({ correlationId, agent, parentToolCallId });
    return this.#say('TOOL_CALL_UPDATE', [{ kind: 'data', data: { ...call } }, ...images], more);
  }

  #say(
    kind: DevelopmentToolEvent['kind'],
    parts: Part[],
    more: Pick<DevelopmentToolEvent, 'correlationId' | keyof HelperMark>,
    isLast?: boolean,
  ): StatusEvent {
    const isText = kind === 'TEXT_CONTENT';
    if (!isText) this.#answer.pause();
    const messageId = isText ? this.#answer.next(isLast) : randomUUIDv7();
    const message = agentMessage(messageId, parts);
    const metadata = this.#metadata({ kind, ...more });
    return { kind: 'status-update', state: 'working', message, metadata };
  }

  #metadata(event: Omit<DevelopmentToolEvent, 'model'>): Record<string, unknown> {
    const { parentToolCallId: parent } = event;
    const helper = parent === undefined ? undefined : this.#helpers.get(parent);
    return extensionMetadata({ ...event, model: helper?.model ?? this.#model });
  }
}

function agentMessage(messageId: string, parts: Part[]): Message {
  return { kind: 'message', messageId, role: 'agent', parts };
}

function newCall(id: string, name: string, args: JsonObject): ToolCall {
  return { tool_call_id: id, status: 'PENDING', tool_name: name, input_parameters: args };
}
