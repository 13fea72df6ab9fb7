/**
 * A task's events as the flat API tells them: one plain object each, its `kind` in kebab-case. The state of one stream.
 *
 *   state-change            { state, error? }                   whenever the state is another than before
 *   thought                 { subject, description }
 *   text-content            { text }
 *   tool-call-update        { toolCallId, toolName, status, inputParameters, liveContent?, result?, error? }
 *   tool-call-confirmation  { toolCallId, toolName, inputParameters, confirmationRequest }
 *   agent-settings          { workspacePath, autoExecute }      where they are not what the client asked for
 *   citation                { url }                             a page that the turn has used, at its end
 *
 * Each has the `taskId` and the `contextId` too. What people say is not told: a client knows its own words.
 */
import {
  AgentThought,
  eventIn,
  looksLikeConfirmation,
  type ConfirmationOption,
  type ToolCall,
  callIn,
} from '../../protocol/development-tool/index.ts';
import {
  isTerminal,
  textOf,
  type Message,
  type StreamEvent,
  type TaskState,
  type TaskStatusUpdateEvent,
} from '../../protocol/index.ts';
import { FETCH_TOOL } from '../approval/policy.ts';

export interface FlatEvent {
  readonly kind: string;
  readonly [field: string]: unknown;
}

export interface SettingsInForce {
  readonly workspacePath: string;
  readonly autoExecute: boolean;
}

export interface FlatEventsOptions {
  /** The task was there before: what it was like is no news. */
  readonly known: boolean;
  /** Told at the beginning. */
  readonly settings?: SettingsInForce | undefined;
}

export class FlatEvents {
  readonly #options: FlatEventsOptions;
  #state: TaskState | undefined;
  /** Addresses of the pages that the turn has used. */
  #pages = new Set<string>();

  constructor(options: FlatEventsOptions) {
    this.#options = options;
  }

  /** What an event of the task is, in order; nothing, where it is none of the client's business. */
  take(event: StreamEvent): FlatEvent[] {
    if (event.kind === 'task') {
      const { id: taskId, contextId, status, history = [] } = event;
      for (const message of history) this.#remember(message);
      const out: Told[] = this.#options.known
        ? []
        : [{ kind: 'state-change', state: status.state }];
      this.#state = status.state;
      const { settings } = this.#options;
      if (settings) out.push({ kind: 'agent-settings', ...settings });
      return out.map((told) => Object.assign(told, { taskId, contextId }));
    }
    if (event.kind !== 'status-update') return [];
    const { taskId, contextId } = event;
    return this.#status(event).map((told) => Object.assign(told, { taskId, contextId }));
  }

  #status(event: TaskStatusUpdateEvent): Told[] {
    const { state, message } = event.status;
    if (message) this.#remember(message);
    const said = message?.role === 'agent' ? this.#said(event, message) : [];
    if (state === this.#state) return said;
    this.#state = state;
    const error = state === 'failed' && message ? { error: textOf(message.parts) } : {};
    const change: Told = { kind: 'state-change', state, ...error };
    // What led to a state comes before it, but for the one in which things are said.
    if (state === 'working') return [change, ...said];
    const cited = isTerminal(state) ? [...this.#pages] : [];
    return [...said, ...cited.map((url) => ({ kind: 'citation', url })), change];
  }

  /** What the agent says with an event. With a change of state it repeats only what was said before. */
  #said(event: TaskStatusUpdateEvent, message: Message): Told[] {
    const [part] = message.parts;
    switch (eventIn(event.metadata)?.kind) {
      case 'TEXT_CONTENT':
        return [{ kind: 'text-content', text: textOf(message.parts) }];
      case 'THOUGHT': {
        const thought = AgentThought.safeParse(part?.kind === 'data' ? part.data : undefined);
        return thought.success ? [{ kind: 'thought', ...thought.data }] : [];
      }
      case 'TOOL_CALL_UPDATE': {
        const call = callIn(message);
        return call ? toldOf(call) : [];
      }
      default:
        return [];
    }
  }

  /** A prompt begins a turn, a confirmation goes on with one. */
  #remember(message: Message): void {
    if (message.role === 'user') {
      if (!message.parts.some(({ data }) => looksLikeConfirmation(data))) this.#pages = new Set();
      return;
    }
    const call = callIn(message);
    if (call?.tool_name !== FETCH_TOOL || call.status !== 'SUCCEEDED') return;
    const { url } = call.input_parameters;
    // Where a page has only said where it is to be found, there is no text.
    if (typeof url === 'string' && call.output?.text !== undefined) this.#pages.add(url);
  }
}

/** An event without the ids. */
type Told = FlatEvent;

function toldOf(call: ToolCall): Told[] {
  const { tool_call_id, tool_name, status, input_parameters, live_content, error } = call;
  const about = {
    toolCallId: tool_call_id,
    toolName: tool_name,
    inputParameters: input_parameters,
  };
  const result = resultOf(call);
  const update: Told = {
    kind: 'tool-call-update',
    ...about,
    status,
    ...(live_content !== undefined && { liveContent: live_content }),
    ...(result !== undefined && { result }),
    ...(error && { error: error.message }),
  };
  const confirmationRequest = requestOf(call);
  if (!confirmationRequest) return [update];
  return [update, { kind: 'tool-call-confirmation', ...about, confirmationRequest }];
}

function resultOf({ output }: ToolCall): string | undefined {
  if (!output) return undefined;
  const { text, diff, structured_data } = output;
  if (diff) return diff.formatted_diff ?? diff.new_content;
  return text ?? JSON.stringify(structured_data);
}

type Severity = 'info' | 'warning' | 'danger';

interface FlatRequest {
  readonly title: string;
  readonly prompt: string;
  readonly type: Severity;
  /** What `optionId` of the answer may be. */
  readonly options: readonly ConfirmationOption[];
}

function requestOf(call: ToolCall): FlatRequest | undefined {
  const { confirmation_request: request, description, tool_name } = call;
  if (!request) return undefined;
  const { execute_details, file_edit_details, mcp_details, generic_details, options } = request;
  const prompt =
    execute_details?.command ??
    file_edit_details?.formatted_diff ??
    file_edit_details?.file_path ??
    generic_details?.description ??
    `${mcp_details?.tool_name} of ${mcp_details?.server_name}`;
  const title = description ?? tool_name;
  return { title, prompt, type: severityOf(call), options };
}

/** Tools that change something and may show it as text alone. */
const CHANGES = new Set(['apply_patch', 'edit', 'write_file', 'save_memory']);

function severityOf({ confirmation_request: request, tool_name }: ToolCall): Severity {
  if (request?.execute_details || request?.mcp_details) return 'danger';
  return request?.file_edit_details || CHANGES.has(tool_name) ? 'warning' : 'info';
}
