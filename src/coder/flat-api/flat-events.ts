/**
 * Converts the events of a task to events of the flat API, which are plain objects with a kebab-case `kind`. Each
 * stream needs its own converter from `flatEvents`.
 *
 *   state-change            { state, error? }                   when the state has changed
 *   thought                 { subject, description, continues? } `continues`: a further piece of the same thought
 *   text-content            { text }
 *   tool-call-update        { toolCallId, toolName, status, inputParameters, liveContent?, result?, error?, errorType?,
 *                             statusCode? }
 *   tool-call-confirmation  { toolCallId, toolName, inputParameters, confirmationRequest }
 *   agent-settings          { workspacePath, autoExecute }      when they differ from the requested settings
 *   citation                { url, title? }                     a page that the turn has read, or that a web search has
 *                                                               found; sent when the turn ends
 *
 * Calls and thoughts of a helper also have the helper's name (`agent`) and the id of the `task` call that started the
 * helper (`parentToolCallId`). Each event also has the `taskId` and the `contextId`. Prompts are not sent, because a
 * client already has its own prompts.
 */
import { defined } from '../../base/index.ts';
import {
  callDetails,
  detailText,
  readStatus,
  readTask,
  type Citation,
  type ConfirmationRequest,
  type Fact,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';
import {
  isTerminal,
  textOf,
  type StreamEvent,
  type TaskState,
  type TaskStatusUpdateEvent,
} from '../../protocol/index.ts';
import { FETCH_TOOL } from '../approval/policy.ts';
import type { WorkspaceAgents } from '../session/workspace-agents.ts';

export interface FlatEvent {
  readonly kind: string;
  readonly [field: string]: unknown;
}

interface FlatEventsOptions {
  /** Whether the task existed before this request. If so, its state at the start of the stream is not sent. */
  readonly known: boolean;
  /** The settings to send at the start of the stream. */
  readonly settings?: Awaited<ReturnType<WorkspaceAgents['overruling']>>;
}

/** Returns a function that converts one event of the task to zero or more flat events, in order. */
export function flatEvents({ known, settings }: FlatEventsOptions) {
  let current: TaskState | undefined;
  /** The pages that the turn has read or found, by URL. */
  let pages = new Map<string, Citation>();

  function ofStatus(event: TaskStatusUpdateEvent): FlatEvent[] {
    const { state, message } = event.status;
    const { facts } = readStatus(event);
    for (const fact of facts) notePage(fact);
    const content = facts.flatMap(flatFact);
    if (state === current) return content;
    current = state;
    const error = state === 'failed' && message ? { error: textOf(message.parts) } : {};
    const change: FlatEvent = { kind: 'state-change', state, ...error };
    // If the new state is `working`, it is sent before the content. Any other new state is sent after the content.
    if (state === 'working') return [change, ...content];
    const cited = isTerminal(state) ? [...pages.values()] : [];
    return [...content, ...cited.map(citation), change];
  }

  /**
   * Collects the pages that are cited at the end of the turn. A prompt starts a new turn, unless its message also
   * answers a call.
   */
  function notePage(fact: Fact): void {
    if (fact.kind === 'prompt' && !fact.besideAnswer) pages = new Map();
    if (fact.kind !== 'call') return;
    const { tool_name, status, input_parameters, output } = fact.call;
    if (status !== 'SUCCEEDED') return;
    for (const found of output?.citations ?? []) cite(found);
    if (tool_name !== FETCH_TOOL) return;
    const { url } = input_parameters;
    // After a redirect to another host there is no text, because the page itself was not read.
    if (typeof url === 'string' && output?.text !== undefined) cite({ url });
  }

  function cite(page: Citation): void {
    if (!pages.has(page.url)) pages.set(page.url, page);
  }

  return (event: StreamEvent): FlatEvent[] => {
    const out: FlatEvent[] = [];
    if (event.kind === 'task') {
      for (const fact of readTask(event)) notePage(fact);
      current = event.status.state;
      if (!known) out.push({ kind: 'state-change', state: current });
      if (settings) out.push({ kind: 'agent-settings', ...settings });
    } else if (event.kind === 'status-update') out.push(...ofStatus(event));
    const taskId = event.kind === 'task' ? event.id : event.taskId;
    return out.map((flat) => Object.assign(flat, { taskId, contextId: event.contextId }));
  };
}

function citation({ url, title }: Citation): FlatEvent {
  return { kind: 'citation', url, ...defined({ title }) };
}

function flatFact(fact: Fact): FlatEvent[] {
  switch (fact.kind) {
    case 'text':
      return [{ kind: 'text-content', text: fact.text }];
    case 'thought':
      return [{ kind: 'thought', ...fact.thought }];
    case 'call':
      return flatCall(fact.call);
    default:
      return [];
  }
}

function flatCall(call: ToolCall): FlatEvent[] {
  const { tool_call_id, tool_name, status, input_parameters, error, agent } = call;
  const { parentToolCallId, confirmation_request: request, description } = call;
  const about = {
    toolCallId: tool_call_id,
    toolName: tool_name,
    inputParameters: input_parameters,
    ...defined({ agent, parentToolCallId }),
  };
  const update: FlatEvent = {
    kind: 'tool-call-update',
    ...about,
    status,
    ...defined({
      liveContent: call.live_content,
      result: resultOf(call),
      error: error?.message,
      errorType: error?.type,
      statusCode: error?.status_code,
    }),
  };
  if (!request) return [update];
  const confirmationRequest = {
    title: description ?? tool_name,
    prompt: detailText(callDetails(call)),
    type: severityOf(request, tool_name),
    // The allowed values of `optionId` in the answer.
    options: request.options,
  };
  return [update, { kind: 'tool-call-confirmation', ...about, confirmationRequest }];
}

function resultOf({ output }: ToolCall): string | undefined {
  if (!output) return undefined;
  const { text, diff, structured_data } = output;
  if (diff) return diff.formatted_diff ?? diff.new_content;
  return text ?? JSON.stringify(structured_data);
}

/** Tools that write files. Their confirmation request may have no file details. */
const CHANGES = new Set(['apply_patch', 'edit', 'write_file', 'save_memory']);

function severityOf(request: ConfirmationRequest, tool: string): 'info' | 'warning' | 'danger' {
  if (request.execute_details || request.mcp_details) return 'danger';
  return request.file_edit_details || CHANGES.has(tool) ? 'warning' : 'info';
}
