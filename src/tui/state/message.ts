/** What a message of the session says. Its parts alone tell: in a task's history there is nothing else. */
import {
  AgentThought,
  EventSource,
  looksLikeConfirmation,
  ToolCall,
  ToolCallConfirmation,
} from '../../protocol/development-tool/index.ts';
import type { Message, Part } from '../../protocol/index.ts';

export type Said =
  | { readonly kind: 'prompt'; readonly text: string; readonly from: EventSource | undefined }
  | {
      readonly kind: 'answer';
      readonly confirmation: ToolCallConfirmation;
      readonly from: EventSource | undefined;
    }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thought'; readonly thought: AgentThought }
  | { readonly kind: 'call'; readonly call: ToolCall };

/** Where the server notes who sent a message. */
const SOURCE_KEY = 'parley.source';

/** `source` is the event's, where the message came in one. */
export function readMessage(message: Message, source?: EventSource): Said[] {
  const from = source ?? EventSource.safeParse(message.metadata?.[SOURCE_KEY]).data;
  return message.role === 'user'
    ? fromPerson(message.parts, from)
    : message.parts.flatMap(fromAgent);
}

function fromPerson(parts: readonly Part[], from: EventSource | undefined): Said[] {
  const answers = parts.flatMap((part) => {
    if (part.kind !== 'data' || !looksLikeConfirmation(part.data)) return [];
    const confirmation = ToolCallConfirmation.safeParse(part.data).data;
    return confirmation ? [{ kind: 'answer' as const, confirmation, from }] : [];
  });
  const text = parts
    .flatMap((part) => {
      if (part.kind === 'text') return [part.text];
      return part.kind === 'file' ? [`[${part.file.name ?? 'file'}]`] : [];
    })
    .join('\n');
  return text === '' ? answers : [...answers, { kind: 'prompt', text, from }];
}

function fromAgent(part: Part): Said[] {
  if (part.kind === 'text') return part.text === '' ? [] : [{ kind: 'text', text: part.text }];
  if (part.kind !== 'data') return [];
  const call = ToolCall.safeParse(part.data).data;
  if (call) return [{ kind: 'call', call }];
  const thought = AgentThought.safeParse(part.data).data;
  return thought ? [{ kind: 'thought', thought }] : [];
}
