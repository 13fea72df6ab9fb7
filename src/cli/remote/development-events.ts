/**
 * What an agent tells by the development-tool extension, for those who print it: text, thoughts, and what becomes of
 * its tool calls. What is not as the extension has it is passed over.
 */
import { isObject } from '../../base/index.ts';
import {
  AgentThought,
  DevelopmentToolEvent,
  EXTENSION_URI,
  ToolCall,
} from '../../protocol/development-tool/index.ts';
import { type Message, type StreamEvent, type Task, textOf } from '../../protocol/index.ts';
import { word } from '../program/terminal.ts';

export type News =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'thought'; readonly subject: string }
  | { readonly kind: 'call'; readonly call: ToolCall };

export function newsIn(event: StreamEvent): News[] {
  if (event.kind !== 'status-update') return [];
  const { message } = event.status;
  const about = DevelopmentToolEvent.safeParse(event.metadata?.[EXTENSION_URI]);
  if (!about.success || message?.role !== 'agent') return [];
  switch (about.data.kind) {
    case 'TEXT_CONTENT':
      return [{ kind: 'text', text: textOf(message.parts) }];
    case 'THOUGHT':
      return dataIn(message, AgentThought).map(({ subject }) => ({ kind: 'thought', subject }));
    case 'TOOL_CALL_UPDATE':
      return dataIn(message, ToolCall).map((call) => ({ kind: 'call', call }));
    default:
      return [];
  }
}

/** What went wrong with the agent itself, or with a command, as an event says it. */
export function problemIn(event: StreamEvent): string | undefined {
  if (event.kind !== 'status-update') return undefined;
  return DevelopmentToolEvent.safeParse(event.metadata?.[EXTENSION_URI]).data?.error;
}

/** The calls that somebody has to decide about before the task goes on. */
export function pendingCalls({ history = [], status }: Task): ToolCall[] {
  const calls = new Map<string, ToolCall>();
  for (const message of status.message ? [...history, status.message] : history) {
    if (message.role !== 'agent') continue;
    for (const call of dataIn(message, ToolCall)) calls.set(call.tool_call_id, call);
  }
  return [...calls.values()].filter(isAsked);
}

export function isAsked({ status, confirmation_request }: ToolCall): boolean {
  return status === 'PENDING' && confirmation_request !== undefined;
}

interface Schema<T> {
  safeParse(value: unknown): { readonly success: boolean; readonly data?: T };
}

function dataIn<T>({ parts }: Message, schema: Schema<T>): T[] {
  return parts.flatMap((part) => {
    if (part.kind !== 'data' || !isObject(part.data)) return [];
    const { data } = schema.safeParse(part.data);
    return data === undefined ? [] : [data];
  });
}

/** One line for each step in the life of a call; undefined where there is nothing new to say. */
export function createCallLines(): (call: ToolCall) => string | undefined {
  const known = new Map<string, ToolCall['status']>();
  return (call) => {
    const { tool_call_id: id, status, description, tool_name, error } = call;
    if (known.get(id) === status) return undefined;
    known.set(id, status);
    const what = word(description ?? tool_name);
    switch (status) {
      case 'PENDING':
        return isAsked(call) ? `? ${what}` : undefined;
      case 'EXECUTING':
        return `· ${what}`;
      case 'SUCCEEDED':
        return `✓ ${what}`;
      case 'FAILED':
      case 'CANCELLED':
        return `✗ ${what}: ${word(error?.message ?? 'declined')}`;
      default:
        return undefined;
    }
  };
}
