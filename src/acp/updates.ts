/**
 * Converts the facts of a session (its prompts, texts, tool calls and so on) to ACP session updates.
 *
 * - A client gets its own prompts only as history. Prompts of other clients contain the sender's name, in the first
 *   text and in `_meta`.
 * - A tool call is announced once. After that, only updates of the call are sent.
 * - A successful `todo` call is sent as the plan.
 */
import { isObject } from '../base/index.ts';
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import type { LiveClient } from '../live/client/index.ts';
import {
  hasEnded,
  type AgentThought,
  type EventSource,
  type Fact,
  type ToolCall,
  type ToolCallConfirmation,
} from '../protocol/development-tool/index.ts';
import type { Part } from '../protocol/index.ts';
import type { ClientEditor } from './client-editor.ts';
import { blockFrom } from './content.ts';
import { toolView, type ToolView } from './tool-view.ts';

const PLAN_STATUSES = ['pending', 'in_progress', 'completed'] as const;

type Plan = Extract<SessionUpdate, { sessionUpdate: 'plan' }>;

export class Updates {
  readonly #self: LiveClient;
  readonly #workspace: string;
  readonly #editor: Pick<ClientEditor, 'terminalOf'> | undefined;
  /** Titles of the announced calls that have not ended, by call id. */
  readonly #open = new Map<string, string>();

  constructor(self: LiveClient, workspace: string, editor?: Pick<ClientEditor, 'terminalOf'>) {
    this.#self = self;
    this.#workspace = workspace;
    this.#editor = editor;
  }

  /**
   * Returns the updates for a fact. With `history`, the client's own prompts are included, and answers to permission
   * requests are omitted.
   */
  of(fact: Fact, { history = false } = {}): SessionUpdate[] {
    switch (fact.kind) {
      case 'prompt':
        if (!history && isOwn(this.#self, fact.source)) return [];
        return this.#prompt(fact.parts, fact.source);
      case 'answer':
        if (history || isOwn(this.#self, fact.source)) return [];
        return [resolution(fact.confirmation, fact.source)];
      case 'text':
        return messageChunk(fact.text);
      case 'thought':
        return [{ sessionUpdate: 'agent_thought_chunk', content: thoughtBlock(fact.thought) }];
      case 'file': {
        const content = blockFrom({ kind: 'file', file: fact.file });
        return content ? [{ sessionUpdate: 'agent_message_chunk', content }] : [];
      }
      case 'call':
        return planIn(fact.call) ?? [this.#call(fact)];
      default:
        return [];
    }
  }

  #call(fact: Extract<Fact, { kind: 'call' }>): SessionUpdate {
    const { call } = fact;
    const view = this.#view(fact);
    const before = this.#open.get(call.tool_call_id);
    if (hasEnded(call)) this.#open.delete(call.tool_call_id);
    else this.#open.set(call.tool_call_id, view.title);
    if (before === undefined) return { sessionUpdate: 'tool_call', ...view };
    const { toolCallId, title, status, content, locations, rawOutput } = view;
    return {
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status,
      ...(title !== before && { title }),
      // An empty list would erase the content that the permission request showed.
      ...(content.length > 0 && { content }),
      ...(locations.length > 0 && { locations }),
      ...(rawOutput !== undefined && { rawOutput }),
    };
  }

  /**
   * Returns the call in ACP's form. If the call runs in a terminal of this client, the client shows the terminal
   * instead of the output.
   */
  #view({ call, files }: Extract<Fact, { kind: 'call' }>): ToolView {
    const view = toolView(call, this.#workspace, files);
    const terminalId = this.#editor?.terminalOf(call.tool_call_id);
    return terminalId === undefined
      ? view
      : { ...view, content: [{ type: 'terminal', terminalId }] };
  }

  /** Marks the open calls as failed. A canceled or failed turn sends no further events for them. */
  abandoned(): SessionUpdate[] {
    const ids = [...this.#open.keys()];
    this.#open.clear();
    return ids.map((toolCallId) => ({
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status: 'failed',
    }));
  }

  #prompt(parts: readonly Part[], source: EventSource | undefined): SessionUpdate[] {
    const who = source?.name ?? source?.client;
    const _meta = source ? { 'parley.source': source } : undefined;
    // A client that resumes a session has a new id but the same name. So prompts with this name need no label.
    let label = who === undefined || who === this.#self.name ? '' : `[${who}] `;
    return parts.flatMap((part): SessionUpdate[] => {
      const block = blockFrom(part);
      if (!block) return [];
      let content = block;
      if (block.type === 'text') {
        content = { ...block, text: label + block.text };
        label = '';
      }
      return [{ sessionUpdate: 'user_message_chunk', content, ...(_meta && { _meta }) }];
    });
  }
}

/** Returns the update that shows who answered a request, and with which option. */
function resolution(
  { tool_call_id: toolCallId, selected_option_id: selectedOptionId }: ToolCallConfirmation,
  source: EventSource | undefined,
): SessionUpdate {
  const resolvedBy = source?.name ?? source?.client ?? 'another client';
  return {
    sessionUpdate: 'tool_call_update',
    toolCallId,
    _meta: { 'parley.resolution': { resolvedBy, selectedOptionId } },
  };
}

/** Returns the update for a piece of the agent's answer, or no update if the text is empty. */
export function messageChunk(text: string): SessionUpdate[] {
  return text === ''
    ? []
    : [{ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }];
}

export function isOwn(self: LiveClient, source: EventSource | undefined): boolean {
  return source?.client === self.id;
}

function thoughtBlock({ subject, description, agent, continues }: AgentThought) {
  if (continues === true) return { type: 'text', text: description } as const;
  const known = description.startsWith(subject.replace(/…$/, ''));
  const helper = agent === undefined ? '' : `[${agent}] `;
  const text = helper + (known ? description : `**${subject}**\n\n${description}`);
  // Clients concatenate the chunks, so each thought ends with a blank line.
  return { type: 'text', text: `${text.trim()}\n\n` } as const;
}

/**
 * Returns the plan of a successful `todo` call, and an empty list while the call runs. Returns undefined if the call
 * must be shown as a tool call. A helper's `todo` call is shown as a tool call, because the helper's list is not the
 * session's plan.
 */
function planIn({ tool_name, status, input_parameters, ...call }: ToolCall): Plan[] | undefined {
  const { items } = input_parameters;
  if (tool_name !== 'todo' || call.agent !== undefined || !Array.isArray(items)) return undefined;
  if (call.confirmation_request || status === 'FAILED' || status === 'CANCELLED') return undefined;
  if (status !== 'SUCCEEDED') return [];
  const entries = items.flatMap((item: unknown): Plan['entries'] => {
    if (!isObject(item) || typeof item['text'] !== 'string') return [];
    const known = PLAN_STATUSES.find((each) => each === item['status']);
    return [{ content: item['text'], priority: 'medium', status: known ?? 'pending' }];
  });
  return [{ sessionUpdate: 'plan', entries }];
}
