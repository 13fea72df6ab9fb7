/**
 * What happens in the session, as the updates that a client is sent.
 *
 * - A client's own prompts are not sent back to it. Others' come with who said it, in front and in `_meta`.
 * - A call is announced once, and from then on updated with what is new.
 * - The list of `todo` is the plan.
 */
import { isObject } from '../base/index.ts';
import type { SessionUpdate } from '@agentclientprotocol/sdk';
import type { LiveClient } from '../live/client/index.ts';
import type {
  AgentThought,
  EventSource,
  ToolCall,
  ToolCallConfirmation,
} from '../protocol/development-tool/index.ts';
import { type Message } from '../protocol/index.ts';
import { blockFrom } from './content.ts';
import type { Fact } from './fact.ts';
import { isOver, toolView } from './tool-view.ts';

const PLAN_STATUSES = ['pending', 'in_progress', 'completed'] as const;

type Plan = Extract<SessionUpdate, { sessionUpdate: 'plan' }>;

export class Updates {
  readonly #self: LiveClient;
  readonly #workspace: string;
  /** The titles of calls that are under way. */
  readonly #open = new Map<string, string>();

  constructor(self: LiveClient, workspace: string) {
    this.#self = self;
    this.#workspace = workspace;
  }

  /** In history, what the client itself has said is told too. */
  of(fact: Fact, { history = false } = {}): SessionUpdate[] {
    switch (fact.kind) {
      case 'prompt':
        if (!history && isOwn(this.#self, fact.source)) return [];
        return this.#prompt(fact.message, fact.source);
      case 'answers':
        if (history || isOwn(this.#self, fact.source)) return [];
        return this.#answers(fact.answers, fact.source);
      case 'text':
        return says(fact.text);
      case 'thought':
        return [{ sessionUpdate: 'agent_thought_chunk', content: thoughtBlock(fact.thought) }];
      case 'call':
        return planIn(fact.call) ?? [this.#call(fact.call)];
      default:
        return [];
    }
  }

  #call(call: ToolCall): SessionUpdate {
    const view = toolView(call, this.#workspace);
    const before = this.#open.get(call.tool_call_id);
    if (isOver(call)) this.#open.delete(call.tool_call_id);
    else this.#open.set(call.tool_call_id, view.title);
    if (before === undefined) return { sessionUpdate: 'tool_call', ...view };
    const { toolCallId, title, status, content, locations, rawOutput } = view;
    return {
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status,
      ...(title !== before && { title }),
      // A call that has just begun has nothing to show, and what it was asked about with stays.
      ...(content.length > 0 && { content }),
      ...(locations.length > 0 && { locations }),
      ...(rawOutput !== undefined && { rawOutput }),
    };
  }

  /** A turn that was stopped says no more of the calls that were under way: they are over. */
  abandoned(): SessionUpdate[] {
    const ids = [...this.#open.keys()];
    this.#open.clear();
    return ids.map((toolCallId) => ({
      sessionUpdate: 'tool_call_update',
      toolCallId,
      status: 'failed',
    }));
  }

  #prompt({ parts }: Message, source: EventSource | undefined): SessionUpdate[] {
    const who = source?.name ?? source?.client;
    const _meta = source ? { 'parley.source': source } : undefined;
    // Whoever takes a conversation up again reads their own words as their own.
    let label = who === undefined || who === this.#self.name ? '' : `[${who}] `;
    return parts.flatMap((part): SessionUpdate[] => {
      const block = blockFrom(part);
      if (!block) return [];
      const content = block.type === 'text' ? { ...block, text: label + block.text } : block;
      label = '';
      return [{ sessionUpdate: 'user_message_chunk', content, ...(_meta && { _meta }) }];
    });
  }

  /** What was asked here is settled: by whom, and how. */
  #answers(
    answers: readonly ToolCallConfirmation[],
    source: EventSource | undefined,
  ): SessionUpdate[] {
    const resolvedBy = source?.name ?? source?.client ?? 'another client';
    return answers.map(({ tool_call_id: toolCallId, selected_option_id: selectedOptionId }) => ({
      sessionUpdate: 'tool_call_update',
      toolCallId,
      _meta: { 'parley.resolution': { resolvedBy, selectedOptionId } },
    }));
  }
}

export function says(text: string): SessionUpdate[] {
  return text === ''
    ? []
    : [{ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } }];
}

export function isOwn(self: LiveClient, source: EventSource | undefined): boolean {
  return source?.client === self.id;
}

function thoughtBlock({ subject, description }: AgentThought) {
  const known = description.startsWith(subject.replace(/…$/, ''));
  const text = known ? description : `**${subject}**\n\n${description}`;
  // Thoughts come whole, one after the other, and a client joins what it is sent.
  return { type: 'text', text: `${text.trim()}\n\n` } as const;
}

/** Undefined: the call is one like any other. */
function planIn({ tool_name, status, input_parameters, ...call }: ToolCall): Plan[] | undefined {
  const { items } = input_parameters;
  if (tool_name !== 'todo' || !Array.isArray(items)) return undefined;
  if (call.confirmation_request || status === 'FAILED' || status === 'CANCELLED') return undefined;
  if (status !== 'SUCCEEDED') return [];
  const entries = items.flatMap((item: unknown): Plan['entries'] => {
    if (!isObject(item) || typeof item['text'] !== 'string') return [];
    const known = PLAN_STATUSES.find((each) => each === item['status']);
    return [{ content: item['text'], priority: 'medium', status: known ?? 'pending' }];
  });
  return [{ sessionUpdate: 'plan', entries }];
}
