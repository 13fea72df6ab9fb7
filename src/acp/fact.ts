/** What one event of the session says. */
import {
  AgentThought,
  eventIn,
  looksLikeConfirmation,
  ToolCall,
  ToolCallConfirmation,
  type DevelopmentToolEvent,
  type EventSource,
} from '../protocol/development-tool/index.ts';
import { textOf, type Message, type TaskStatusUpdateEvent } from '../protocol/index.ts';

export type Fact =
  /** Somebody has said something. */
  | { readonly kind: 'prompt'; readonly message: Message; readonly source?: EventSource }
  /** Somebody has answered for calls that waited. */
  | {
      readonly kind: 'answers';
      readonly answers: readonly ToolCallConfirmation[];
      readonly source?: EventSource;
    }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thought'; readonly thought: AgentThought }
  | { readonly kind: 'call'; readonly call: ToolCall }
  /** Only how the turn stands, with what is said about that. */
  | {
      readonly kind: 'state';
      readonly text: string;
      readonly problem?: string;
      readonly code?: string;
    };

export function factOf({ status: { message }, metadata }: TaskStatusUpdateEvent): Fact {
  const about = aboutOf(metadata);
  const [first] = message?.parts ?? [];
  const data = first?.kind === 'data' ? first.data : undefined;
  if (message?.role === 'user') {
    const source = about?.source && { source: about.source };
    if (!looksLikeConfirmation(data)) return { kind: 'prompt', message, ...source };
    const answers = message.parts.flatMap((part) => {
      const answer = ToolCallConfirmation.safeParse(part.kind === 'data' ? part.data : undefined);
      return answer.success ? [answer.data] : [];
    });
    return { kind: 'answers', answers, ...source };
  }
  const text = textOf(message?.parts ?? []);
  if (about?.kind === 'TEXT_CONTENT') return { kind: 'text', text };
  if (about?.kind === 'THOUGHT') {
    const thought = AgentThought.safeParse(data);
    if (thought.success) return { kind: 'thought', thought: thought.data };
  }
  if (about?.kind === 'TOOL_CALL_UPDATE') {
    const call = ToolCall.safeParse(data);
    if (call.success) return { kind: 'call', call: call.data };
  }
  return {
    kind: 'state',
    text,
    ...(about?.error !== undefined && { problem: about.error }),
    ...(about?.errorCode !== undefined && { code: about.errorCode }),
  };
}

/** Metadata that cannot be read say nothing. */
function aboutOf(metadata: TaskStatusUpdateEvent['metadata']): DevelopmentToolEvent | undefined {
  try {
    return eventIn(metadata);
  } catch {
    return undefined;
  }
}
