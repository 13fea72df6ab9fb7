/**
 * A run of the framework as the development-tool extension tells it: status updates whose metadata say what they are
 * about. The state of one execution.
 *
 * - Text goes out in pieces of about a tenth of a second: each is a message that stays in the task's history.
 * - Thoughts go out by the block, before what comes of them.
 * - A call is sent whole each time that something happens to it: PENDING when it is asked about, or when it begins;
 *   EXECUTING with what it prints; then SUCCEEDED, FAILED or CANCELLED.
 */
import { type JsonObject, type JsonValue, isObject } from '../../base/index.ts';
import { randomUUIDv7 } from 'node:crypto';
import {
  functionCalls,
  functionResponses,
  contentText,
  type FunctionCallPart,
  type FunctionResponsePart,
  isFinalResponse,
  type Event,
  type Question,
} from '../../agent/index.ts';
import {
  extensionMetadata,
  ToolOutput,
  type AgentThought,
  type DevelopmentToolEvent,
  type SessionUsage,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';
import { type Message, type Part, type TaskState } from '../../protocol/index.ts';
import type { StatusEvent } from '../../tasks/index.ts';
import { askDetail } from '../approval/confirmations.ts';

/** Text is gathered for so long, or until there is so much of it. */
export const GATHER_MS = 100;
const GATHER_CHARS = 2048;
/** What a running call shows is its end. */
const MAX_LIVE = 8 * 1024;
/**
 * Each update stays in the task's log, so they come under ten a second, and the rarer the longer the call runs. What
 * the shell shows is paced a little more slowly, so that none of it is left out here.
 */
const LIVE_MS = 100;
const LIVE_SHARE = 1 / 60;

export interface TurnEventsOptions {
  /** The model's name. */
  readonly model: string;
  /** The agent's; a call of any other carries its caller's name. */
  readonly agent: string;
  /** One line for people about a call. */
  readonly describe: (tool: string, args: JsonObject) => string | undefined;
}

export class TurnEvents {
  readonly #options: TurnEventsOptions;
  readonly #calls = new Map<string, ToolCall>();
  /** Calls that a person has declined. */
  readonly #declined = new Set<string>();
  /** Calls whose beginning has been told. */
  readonly #told = new Set<string>();
  /** When a running call was told of for the first time, and for the last. */
  readonly #shown = new Map<string, { readonly since: number; readonly last: number }>();
  /** Requests that have been told, by their correlation id. */
  readonly #asked = new Set<string>();
  readonly #unsaid: FunctionResponsePart[] = [];
  #text = '';
  #textSince = 0;
  #thought = '';
  /** What was sent of the answer that is being given. */
  #said = '';
  #final = '';
  #problem: string | undefined;
  #model: string;

  constructor(options: TurnEventsOptions) {
    this.#options = options;
    this.#model = options.model;
  }

  /** The last answer of the agent. */
  get finalText(): string {
    return this.#final;
  }

  /** Why a command did not do what it was told. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** A change of the task's state. */
  state(
    state: TaskState,
    more: {
      readonly message?: string;
      readonly error?: string;
      readonly errorCode?: string | undefined;
      readonly correlationId?: string;
      readonly usage?: SessionUsage;
    } = {},
  ): StatusEvent {
    const { message, error, errorCode, correlationId, usage } = more;
    return {
      kind: 'status-update',
      state,
      ...(message !== undefined && { message }),
      metadata: this.#metadata({
        kind: 'STATE_CHANGE',
        ...(error !== undefined && { error }),
        ...(errorCode !== undefined && { errorCode }),
        ...(correlationId !== undefined && { correlationId }),
        ...(usage && { usage }),
      }),
    };
  }

  /**
   * What the run has come to before this execution, the questions that are open, and the calls as the task's log has
   * them. Where the process died in between, the log lacks the last of it: `missed` says it.
   */
  recall(
    events: readonly Event[],
    open: readonly Question[],
    logged: ReadonlyMap<string, ToolCall>,
  ): void {
    for (const event of events) {
      const { content, actions, author } = event;
      if (author === this.#options.agent && isFinalResponse(event))
        this.#final = contentText(content);
      for (const { questionId, confirmed } of actions.answers ?? []) {
        if (confirmed === false) this.declined(questionId);
      }
      for (const call of functionCalls(content)) this.#calls.set(call.id, this.#callOf(call));
      for (const response of functionResponses(content)) {
        const { status = 'PENDING' } = logged.get(response.id) ?? {};
        if (status === 'PENDING' || status === 'EXECUTING') this.#unsaid.push(response);
        else this.#calls.delete(response.id);
      }
    }
    for (const id of logged.keys()) this.#told.add(id);
    for (const question of open) {
      const { correlationId } = askDetail(question);
      const call = this.#calls.get(question.id);
      if (call) this.#calls.set(question.id, this.#pendingCall(call, question));
      if (logged.get(question.id)?.correlationId === correlationId) this.#asked.add(correlationId);
    }
  }

  /** The ends of calls that nobody was told of. */
  missed(): StatusEvent[] {
    return this.#unsaid.splice(0).flatMap((response) => this.#settle(response));
  }

  declined(callId: string): void {
    this.#declined.add(callId);
  }

  translate(event: Event): StatusEvent[] {
    const { content, actions, partial, author, metadata } = event;
    // A session may have another model than the one that it began with.
    if (typeof metadata?.['model'] === 'string') this.#model = metadata['model'];
    if (typeof metadata?.['problem'] === 'string') this.#problem = metadata['problem'];
    const out: StatusEvent[] = [];
    if (author === this.#options.agent && content?.role === 'model') {
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

  /** There is something that is gathered and not sent. */
  get gathers(): boolean {
    return this.#text !== '' || this.#thought !== '';
  }

  /** What was gathered and not sent. */
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
    // Pieces have said most of it already, unless there were none, or something has changed it.
    const rest = text.startsWith(this.#said) ? text.slice(this.#said.length) : text;
    if (rest !== '') out.push(this.#say('TEXT_CONTENT', { kind: 'text', text: rest }));
    this.#said = '';
    if (isFinalResponse(event)) this.#final = text;
    for (const call of functionCalls(content)) this.#calls.set(call.id, this.#callOf(call));
    return out;
  }

  #callOf({ id, name, args }: FunctionCallPart): ToolCall {
    const description = this.#options.describe(name, args);
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
    // A run that is taken up shows its open questions again; they are in the log already.
    const { correlationId } = askDetail(question);
    if (this.#asked.has(correlationId)) return [];
    this.#asked.add(correlationId);
    return [this.#update(call)];
  }

  #pendingCall(known: ToolCall, question: Question): ToolCall {
    const { request, correlationId, helper } = askDetail(question);
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

  /** Whether a call that runs is told of again: there is something new, and it is not too often. */
  #isDue(callId: string, live: string | undefined): boolean {
    if (live === undefined || live === this.#calls.get(callId)?.live_content) return false;
    const now = performance.now();
    const { since, last } = this.#shown.get(callId) ?? { since: now, last: -Infinity };
    if (now - last < Math.max(LIVE_MS, (now - since) * LIVE_SHARE)) return false;
    this.#shown.set(callId, { since, last: now });
    return true;
  }

  /** A call that nobody was asked about is PENDING once, so that its life is whole for whoever follows it. */
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

  /** What a helper was refused is one of its calls, not its job. */
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

/** The call without what only belongs to it while it is asked about. */
function announced(call: ToolCall): ToolCall {
  const { confirmation_request: _, correlationId: __, ...rest } = call;
  return rest;
}

/** What a tool shows while it runs: text, or, of an MCP server, how far it is. */
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

/** Models begin a thought with its subject: `**Reading the file** I will look at …`. */
export function thoughtOf(text: string): AgentThought {
  const [, subject, description] = /^\s*\*\*([^*\n]{1,200})\*\*\s*([^]*)$/.exec(text) ?? [];
  if (subject !== undefined)
    return { subject: subject.trim(), description: (description ?? '').trim() };
  const [first = ''] = text.trim().split('\n', 1);
  return {
    subject: first.length > 80 ? `${first.slice(0, 79)}…` : first,
    description: text.trim(),
  };
}
