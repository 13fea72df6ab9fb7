/**
 * Converts the events of a run to status updates of the development-tool extension. The metadata of a status update
 * contains its kind. Each execution has its own presenter.
 *
 * - Text is collected for about a tenth of a second and then sent. Smaller pieces would fill the task's history,
 *   because each piece stays there as a message.
 * - A thought is sent as a whole, before the text or the call that follows it.
 * - A call is sent in full each time it changes: PENDING when it needs approval or begins, EXECUTING with its output,
 *   then SUCCEEDED, FAILED or CANCELLED.
 */
import { randomUUIDv7 } from 'node:crypto';
import {
  functionCalls,
  functionResponses,
  contentText,
  type Answer,
  type FunctionCallPart,
  type FunctionResponsePart,
  isFinalResponse,
  type Event,
  type OpenRun,
  type Question,
  type Session,
} from '../../agent/index.ts';
import { defined, isObject, type JsonValue } from '../../base/index.ts';
import type { TurnPresenter } from '../../bridge/index.ts';
import {
  extensionMetadata,
  hasEnded,
  readMessage,
  ToolOutput,
  type AgentThought,
  type DevelopmentToolEvent,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';
import type { Message, Part, TaskState } from '../../protocol/index.ts';
import type { ExecutionContext, Logger, StatusEvent } from '../../tasks/index.ts';
import { CallStates } from '../approval/call-states.ts';
import { questionText, requestOf } from '../approval/confirmation-request.ts';
import { MODEL_KEY } from '../session/session-model.ts';
import { sessionStatus } from '../session/session-status.ts';
import { APP, type WorkspaceAgent } from '../session/workspace-agent.ts';

/** Collected text is sent after this time, or when it has this many characters. */
const GATHER_MS = 100;
const GATHER_CHARS = 2048;
/** Maximum number of characters of a running call's output that are shown. The end of the output is shown. */
const MAX_LIVE = 8 * 1024;
/**
 * The minimum time between two updates of a running call is LIVE_MS, or LIVE_SHARE of the call's running time if this
 * is longer. Updates are limited, because each update stays in the task's log. The shell reports its output slightly
 * less often, so none of its reports are skipped.
 */
const LIVE_MS = 100;
const LIVE_SHARE = 1 / 60;
/**
 * Maximum length of the answer in the status update with the state `completed`. A longer answer is only in its
 * TEXT_CONTENT events.
 */
const MAX_FINAL_TEXT = 256 * 1024;

interface PresenterOptions {
  readonly context: Pick<ExecutionContext, 'task' | 'turn' | 'resumed'>;
  /** Whether the client supports the extension. Other clients get questions as text. */
  readonly isActive: boolean;
  readonly agent: Pick<WorkspaceAgent, 'model' | 'modelOf' | 'mode' | 'loosest' | 'describe'>;
  readonly run: OpenRun;
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
  /** For each running call: when it was first shown, and when it was last shown. */
  readonly #shown = new Map<string, { readonly since: number; readonly last: number }>();
  /** The correlation ids of the confirmation requests that are in the task's log. */
  readonly #asked = new Set<string>();
  #text = '';
  #textSince = 0;
  #thought = '';
  /** The part of the current answer that has been sent. */
  #said = '';
  /** The agent's last answer. */
  #final = '';
  /** The reason why a slash command failed. */
  #problem: string | undefined;
  #model: string;
  /** The session after another run has changed it. */
  #changed: Session | undefined;

  constructor(options: PresenterOptions) {
    this.#options = options;
    this.#model = options.model;
  }

  start(): StatusEvent[] {
    const { turn, resumed } = this.#options.context;
    return turn.length === 1 || resumed ? [this.#state('working')] : [];
  }

  /**
   * Returns the updates that are missing in the task's log. Events are stored in the session before they are shown in
   * the task. If the process died in between, the last updates are missing: calls that have ended, and questions that
   * were asked.
   */
  recall({ events, questions }: OpenRun): StatusEvent[] {
    const { calls } = new CallStates(this.#options.context.task);
    const open = new Set(questions.map((question) => requestOf(question).correlationId));
    const isMissing = ({ message }: StatusEvent): boolean => {
      const [fact] = typeof message === 'object' ? readMessage(message) : [];
      if (fact?.kind !== 'call') return false;
      const { tool_call_id, correlationId } = fact.call;
      const told = calls.get(tool_call_id);
      if (hasEnded(fact.call)) return told === undefined || !hasEnded(told);
      return correlationId === undefined ? told === undefined : open.has(correlationId);
    };
    for (const call of calls.values()) {
      this.#told.add(call.tool_call_id);
      if (call.correlationId !== undefined) this.#asked.add(call.correlationId);
    }
    return events.flatMap((event) => this.present(event)).filter(isMissing);
  }

  answered(answers: readonly Answer[]): void {
    for (const { questionId, confirmed } of answers) {
      if (confirmed === false) this.#declined.add(questionId);
    }
  }

  /** Called when another run, such as that of a command, has changed the session. */
  changed(session: Session | undefined): void {
    this.#changed = session;
  }

  ask(questions: readonly Question[]): StatusEvent {
    const words = this.#options.isActive ? {} : { message: questionText(questions) };
    return this.#state('input-required', { ...words, ...this.#session() });
  }

  complete(): StatusEvent {
    const fits = this.#final !== '' && this.#final.length <= MAX_FINAL_TEXT;
    return this.#state('completed', {
      ...this.#session(),
      ...(fits && { message: this.#final }),
      ...(this.#problem !== undefined && { error: this.#problem }),
    });
  }

  fail({ error, author }: Event): StatusEvent {
    const correlationId = randomUUIDv7();
    const { context, logger } = this.#options;
    const fields = { taskId: context.task.id, correlationId, code: error?.code, agent: author };
    logger.error({ ...fields, problem: error?.message }, 'a turn failed');
    const message = `${failureText(error?.code)} Correlation id: ${correlationId}`;
    const errorCode = error && Object.hasOwn(FAILURES, error.code) ? error.code : undefined;
    const about = { error: message, errorCode, correlationId, ...this.#session() };
    return this.#state('failed', { message, ...about });
  }

  lost(message: string): StatusEvent {
    return this.#state('failed', { message, error: message });
  }

  /** Returns the session's mode and usage, for the status updates that end a turn or wait for an answer. */
  #session(): Pick<DevelopmentToolEvent, 'approval' | 'usage'> {
    const { run, agent } = this.#options;
    const session = this.#changed ?? run.session;
    if (!session) return {};
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
      ...(message !== undefined && { message }),
      metadata: this.#metadata({ ...defined(more), kind: 'STATE_CHANGE' }),
    };
  }

  present(event: Event): StatusEvent[] {
    const { content, actions, partial, author, metadata } = event;
    this.#noteModel(actions.stateDelta?.[MODEL_KEY]);
    if (typeof metadata?.['problem'] === 'string') this.#problem = metadata['problem'];
    const out: StatusEvent[] = [];
    this.answered(actions.answers ?? []);
    if (author === APP && content?.role === 'model') {
      if (partial === true) out.push(...this.#piece(event));
      else out.push(...this.#whole(event));
    }
    for (const question of actions.questions ?? [])
      out.push(...this.flush(), ...this.#ask(question));
    if (actions.progress)
      out.push(...this.#progress(actions.progress.callId, actions.progress.value));
    for (const response of functionResponses(content))
      out.push(...this.flush(), ...this.#settle(response));
    return out;
  }

  /** Notes that a command has set the session's model. The value null stands for the model of the workspace. */
  #noteModel(chosen: JsonValue | undefined): void {
    if (chosen === undefined) return;
    this.#model = typeof chosen === 'string' ? chosen : this.#options.agent.model.name;
    this.#options.onModel?.(this.#model);
  }

  get flushAfterMs(): number | undefined {
    return this.#text !== '' || this.#thought !== '' ? GATHER_MS : undefined;
  }

  /** Returns updates for the text and the thought that were collected. */
  flush(): StatusEvent[] {
    const out: StatusEvent[] = [];
    if (this.#thought !== '') {
      const thought = this.#thought;
      this.#thought = '';
      out.push(this.#say('THOUGHT', { kind: 'data', data: { ...thoughtOf(thought) } }));
    }
    if (this.#text !== '') {
      const text = this.#text;
      this.#text = '';
      this.#said += text;
      out.push(this.#say('TEXT_CONTENT', { kind: 'text', text }));
    }
    return out;
  }

  #piece({ content }: Event): StatusEvent[] {
    const out: StatusEvent[] = [];
    for (const part of content?.parts ?? []) {
      if (part.kind === 'thought') {
        if (this.#text !== '') out.push(...this.flush());
        this.#thought += part.text;
      } else if (part.kind === 'text' && part.text !== '') {
        if (this.#thought !== '') out.push(...this.flush());
        if (this.#text === '') this.#textSince = performance.now();
        this.#text += part.text;
      }
    }
    const due = performance.now() - this.#textSince >= GATHER_MS;
    if (this.#text !== '' && (due || this.#text.length >= GATHER_CHARS)) out.push(...this.flush());
    return out;
  }

  #whole(event: Event): StatusEvent[] {
    const { content } = event;
    const out = this.flush();
    const text = contentText(content);
    // The pieces have been sent already, unless there were none or the answer was changed afterwards.
    const rest = text.startsWith(this.#said) ? text.slice(this.#said.length) : text;
    if (rest !== '') out.push(this.#say('TEXT_CONTENT', { kind: 'text', text: rest }));
    this.#said = '';
    if (isFinalResponse(event)) this.#final = text;
    for (const call of functionCalls(content)) this.#calls.set(call.id, this.#callOf(call));
    return out;
  }

  #callOf({ id, name, args }: FunctionCallPart): ToolCall {
    const description = this.#options.agent.describe(name, args);
    return {
      tool_call_id: id,
      status: 'PENDING',
      tool_name: name,
      ...(description !== undefined && { description }),
      input_parameters: args,
    };
  }

  #ask(question: Question): StatusEvent[] {
    const { id, tool = question.agent, args = {} } = question;
    const known =
      this.#calls.get(id) ?? this.#callOf({ kind: 'function-call', id, name: tool, args });
    const call = this.#pendingCall(known, question);
    this.#calls.set(id, call);
    this.#told.add(id);
    // A resumed run emits its open questions again, but the log already contains them.
    const { correlationId } = requestOf(question);
    if (this.#asked.has(correlationId)) return [];
    this.#asked.add(correlationId);
    return [this.#update(call)];
  }

  #pendingCall(known: ToolCall, question: Question): ToolCall {
    const { request, correlationId, helper } = requestOf(question);
    return {
      ...announced(known),
      status: 'PENDING',
      description: question.text,
      confirmation_request: request,
      correlationId,
      ...(helper !== undefined && { agent: helper }),
    };
  }

  #progress(callId: string, value: JsonValue): StatusEvent[] {
    const call = this.#calls.get(callId);
    if (!call) return [];
    const live = liveContent(value)?.slice(-MAX_LIVE);
    if (call.status === 'EXECUTING' && !this.#isDue(callId, live)) return [];
    const running: ToolCall = {
      ...announced(call),
      status: 'EXECUTING',
      ...(live !== undefined && { live_content: live }),
    };
    this.#calls.set(callId, running);
    return [...this.flush(), ...this.#begin(call), this.#update(running)];
  }

  /**
   * Returns whether a running call should be shown again. It should if its output is new and enough time has passed.
   */
  #isDue(callId: string, live: string | undefined): boolean {
    if (live === undefined || live === this.#calls.get(callId)?.live_content) return false;
    const now = performance.now();
    const { since, last } = this.#shown.get(callId) ?? { since: now, last: -Infinity };
    if (now - last < Math.max(LIVE_MS, (now - since) * LIVE_SHARE)) return false;
    this.#shown.set(callId, { since, last: now });
    return true;
  }

  /** Shows a call that needs no approval as PENDING once, so that clients see every state of the call. */
  #begin(call: ToolCall): StatusEvent[] {
    if (this.#told.has(call.tool_call_id)) return [];
    this.#told.add(call.tool_call_id);
    return [this.#update({ ...announced(call), status: 'PENDING' })];
  }

  #settle(response: FunctionResponsePart): StatusEvent[] {
    const call = this.#calls.get(response.id) ?? {
      tool_call_id: response.id,
      status: 'PENDING' as const,
      tool_name: response.name,
      input_parameters: {},
    };
    this.#calls.delete(response.id);
    this.#shown.delete(response.id);
    const { live_content: _, ...rest } = announced(call);
    const settled: ToolCall =
      response.isError === true
        ? {
            ...rest,
            status: this.#isDeclined(call) ? 'CANCELLED' : 'FAILED',
            error: { message: textFor(response.response), type: 'tool_error' },
          }
        : { ...rest, status: 'SUCCEEDED', output: outputOf(response) };
    return [...this.#begin(call), this.#update(settled)];
  }

  /**
   * Returns whether a person declined the call. Declining a call of a helper does not decline the helper's whole job.
   */
  #isDeclined({ tool_call_id, agent }: ToolCall): boolean {
    return agent === undefined && this.#declined.has(tool_call_id);
  }

  #update(call: ToolCall): StatusEvent {
    const correlation = call.confirmation_request ? call.correlationId : undefined;
    const more = correlation === undefined ? {} : { correlationId: correlation };
    return this.#say('TOOL_CALL_UPDATE', { kind: 'data', data: { ...call } }, more);
  }

  #say(
    kind: DevelopmentToolEvent['kind'],
    part: Part,
    more: { correlationId?: string } = {},
  ): StatusEvent {
    const message: Message = {
      kind: 'message',
      messageId: randomUUIDv7(),
      role: 'agent',
      parts: [part],
    };
    return {
      kind: 'status-update',
      state: 'working',
      message,
      metadata: this.#metadata({ kind, ...more }),
    };
  }

  #metadata(event: Omit<DevelopmentToolEvent, 'model'>): Record<string, unknown> {
    return extensionMetadata({ ...event, model: this.#model });
  }
}

/** Returns the call without its confirmation request. */
function announced(call: ToolCall): ToolCall {
  const { confirmation_request: _, correlationId: __, ...rest } = call;
  return rest;
}

/** Returns the output of a running tool: text, or the progress that an MCP server reports. */
function liveContent(value: JsonValue): string | undefined {
  if (typeof value === 'string') return value;
  if (!isObject(value)) return undefined;
  const { message, progress, total } = value;
  if (typeof message === 'string') return message;
  if (typeof progress !== 'number') return undefined;
  return typeof total === 'number' ? `${progress} of ${total}` : String(progress);
}

function outputOf({ response, display }: FunctionResponsePart): ToolOutput {
  const shown = ToolOutput.safeParse(display);
  if (shown.success) return shown.data;
  return isObject(response) ? { structured_data: { ...response } } : { text: textFor(response) };
}

function textFor(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * Splits a thought into its subject and its description. Models start a thought with its subject: `**Reading the file**
 * I will look at …`.
 */
function thoughtOf(text: string): AgentThought {
  const [, subject, description] = /^\s*\*\*([^*\n]{1,200})\*\*\s*([^]*)$/.exec(text) ?? [];
  if (subject !== undefined)
    return { subject: subject.trim(), description: (description ?? '').trim() };
  const [first = ''] = text.trim().split('\n', 1);
  return {
    subject: first.length > 80 ? `${first.slice(0, 79)}…` : first,
    description: text.trim(),
  };
}

const FAILURES: Readonly<Record<string, string>> = {
  'step-limit': 'The turn has reached its limit of model calls.',
  'time-limit': 'The turn has reached its time limit.',
  'event-limit': 'The turn has reached its limit of events.',
  'token-limit': 'The session has reached its token limit (limits.maxTokens). Start a new session.',
  'cost-limit': 'The session has reached its cost limit (limits.maxCostUsd). Start a new session.',
  'model-exhausted': 'script exhausted.',
};

/** Returns the text about a failure for the peer. It contains no internal details. */
function failureText(code = ''): string {
  if (FAILURES[code] !== undefined) return FAILURES[code];
  return code.startsWith('model-') ? 'The model gave no answer.' : 'The agent failed.';
}
