/**
 * What a task that is over says, for one who comes later. There are only its messages: their parts tell what they are,
 * and who has answered what is no longer of interest.
 */
import {
  AgentThought,
  EventSource,
  looksLikeConfirmation,
  ToolCall,
} from '../protocol/development-tool/index.ts';
import { textOf, type Message, type Part, type Task } from '../protocol/index.ts';
import { SOURCE_KEY } from '../tasks/index.ts';
import type { Fact } from './fact.ts';

export function factsIn({ history = [], status: { message } }: Task): Fact[] {
  const messages = message ? [...history, message] : history;
  const facts: Fact[] = [];
  /** What the agent has said since the last prompt or call. */
  let said = '';
  for (const [index, each] of messages.entries()) {
    const next = messages[index + 1];
    // A turn ends with the answer, which came in pieces before.
    const closes = each.role === 'agent' && (next === undefined || isPrompt(next));
    if (closes && said !== '' && textOf(each.parts).trim() === said.trim()) continue;
    for (const fact of factsOf(each)) {
      said = fact.kind === 'text' ? said + fact.text : fact.kind === 'thought' ? said : '';
      facts.push(fact);
    }
  }
  return facts;
}

function factsOf(message: Message): Fact[] {
  if (message.role === 'agent') return message.parts.flatMap(fromAgent);
  if (!isPrompt(message)) return [];
  const source = EventSource.safeParse(message.metadata?.[SOURCE_KEY]).data;
  return [{ kind: 'prompt', message, ...(source && { source }) }];
}

function fromAgent(part: Part): Fact[] {
  if (part.kind === 'text') return part.text === '' ? [] : [{ kind: 'text', text: part.text }];
  if (part.kind !== 'data') return [];
  const call = ToolCall.safeParse(part.data).data;
  if (call) return [{ kind: 'call', call }];
  const thought = AgentThought.safeParse(part.data).data;
  return thought ? [{ kind: 'thought', thought }] : [];
}

function isPrompt({ role, parts: [first] }: Message): boolean {
  return role === 'user' && !(first?.kind === 'data' && looksLikeConfirmation(first.data));
}
