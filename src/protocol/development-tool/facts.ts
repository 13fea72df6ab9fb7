/**
 * Converts status updates, messages and tasks with development-tool events into typed facts. The code that shows a
 * session (ACP, the terminal UI, the command line, the flat API) uses these facts.
 *
 *   for (const fact of readStatus(event).facts) if (fact.kind === 'text') process.stdout.write(fact.text);
 */
import { isObject } from '../../base/index.ts';
import {
  SOURCE_KEY,
  textOf,
  type DataPart,
  type FilePart,
  type Message,
  type Part,
} from '../message.ts';
import type { Task, TaskState, TaskStatusUpdateEvent } from '../task.ts';
import { isTerminal } from '../task-state.ts';
import { isAwaitingAnswer } from './call-checks.ts';
import { AgentThought, EventSource, type DevelopmentToolEvent } from './event.ts';
import { eventIn } from './extension.ts';
import { coderAgentKind, isCoderAgentCall, readCoderAgentCall } from './coder-agent.ts';
import { looksLikeConfirmation, tryConfirmation } from './confirmation.ts';
import { textPlace } from './message-ids.ts';
import { ToolCall, type ToolCallConfirmation } from './tool-call.ts';

/**
 * A key in the metadata of a part. Its value is the name of the artifact that the part comes from. Clients that show
 * artifacts as messages set this key.
 */
export const ARTIFACT_NAME_KEY = 'parley.artifactName';

interface FromArtifact {
  /**
   * The name of the artifact. Only the first text of an artifact has the name. Every file and every data part of the
   * artifact has it.
   */
  readonly artifact?: string;
}

export type Fact =
  /** A prompt from a person. `source` is the client that sent the prompt. */
  | {
      readonly kind: 'prompt';
      readonly parts: readonly Part[];
      readonly source?: EventSource;
      /** Whether the prompt's message also answers a call. Such a prompt does not start a turn. */
      readonly besideAnswer?: boolean;
    }
  /** A person's answer to the confirmation request of a call. */
  | {
      readonly kind: 'answer';
      readonly confirmation: ToolCallConfirmation;
      readonly source?: EventSource;
    }
  /** A chunk of the agent's answer. */
  | ({ readonly kind: 'text'; readonly text: string } & FromArtifact)
  | { readonly kind: 'thought'; readonly thought: AgentThought }
  /** An image or another file that is part of the agent's answer. */
  | ({ readonly kind: 'file'; readonly file: FilePart['file'] } & FromArtifact)
  /** Structured data that is part of the agent's answer and is not an event of the extension. */
  | ({ readonly kind: 'data'; readonly data: DataPart['data'] } & FromArtifact)
  /**
   * A tool call that has started, changed or ended. `call` is its complete new state. `files` are the files that the
   * tool returned, for example images.
   */
  | {
      readonly kind: 'call';
      readonly call: ToolCall;
      readonly files?: readonly FilePart['file'][];
    }
  /**
   * A new state of the task. `text` is an error or, for input-required, the question as text. In logs of early versions
   * of Parley, `text` repeats the answer.
   */
  | { readonly kind: 'state'; readonly state: TaskState; readonly text: string };

export interface StatusReading {
  /** The extension's metadata, or undefined if it is missing or invalid. */
  readonly about: DevelopmentToolEvent | undefined;
  readonly facts: readonly Fact[];
}

/** Reads one status update. */
export function readStatus({ status, metadata }: TaskStatusUpdateEvent): StatusReading {
  const { state, message } = status;
  const about = metadataIn(metadata);
  const isChange = about?.kind === 'STATE_CHANGE' || coderAgentKind(metadata) === 'state-change';
  if (message && !isChange && !isTerminal(state)) {
    return { about, facts: readMessage(message, about?.source) };
  }
  return { about, facts: [{ kind: 'state', state, text: message ? textOf(message.parts) : '' }] };
}

/**
 * Returns the correlation id of a failure, or undefined if there is none. The server's log contains the reason under
 * this id.
 */
export function failureId({ status, metadata }: TaskStatusUpdateEvent): string | undefined {
  if (status.state !== 'failed') return undefined;
  // If the agent itself fails, the id is in the extension's metadata. If the server fails, the id is directly in
  // `metadata`.
  const id = metadataIn(metadata)?.correlationId ?? metadata?.['correlationId'];
  return typeof id === 'string' ? id : undefined;
}

function metadataIn(metadata: TaskStatusUpdateEvent['metadata']): DevelopmentToolEvent | undefined {
  try {
    return eventIn(metadata);
  } catch {
    return undefined;
  }
}

/**
 * Reads a message. Only the role and the parts of the message determine the kinds of its facts, because a message in a
 * task's history does not have the metadata of its event. Default of `eventSource`: the source in the metadata of the
 * message.
 */
export function readMessage(message: Message, eventSource?: EventSource): Fact[] {
  if (message.role === 'agent') return agentFacts(message.parts);
  const found = eventSource ?? EventSource.safeParse(message.metadata?.[SOURCE_KEY]).data;
  const source = found && { source: found };
  const facts: Fact[] = [];
  const parts: Part[] = [];
  for (const part of message.parts) {
    if (part.kind !== 'data' || !looksLikeConfirmation(part.data)) {
      parts.push(part);
      continue;
    }
    const confirmation = tryConfirmation(part.data);
    if (confirmation) facts.push({ kind: 'answer', confirmation, ...source });
  }
  if (parts.length === 0) return facts;
  const beside = facts.length > 0 && { besideAnswer: true };
  return [...facts, { kind: 'prompt', parts, ...source, ...beside }];
}

function agentFacts(parts: readonly Part[]): Fact[] {
  const files = parts.filter((part) => part.kind === 'file');
  const facts = parts.flatMap(agentFact);
  if (files.length === 0) return facts;
  // Files in the same message as a call are the output of the call.
  const [only] = facts;
  if (facts.length === 1 && only?.kind === 'call') {
    return [{ ...only, files: files.map(({ file }) => file) }];
  }
  return [...facts, ...files.map(fileFact)];
}

function fileFact(part: FilePart): Fact {
  return { kind: 'file', file: part.file, ...artifactOf(part) };
}

function artifactOf({ metadata }: Pick<DataPart, 'metadata'>): FromArtifact {
  const name = metadata?.[ARTIFACT_NAME_KEY];
  return typeof name === 'string' ? { artifact: name } : {};
}

function agentFact(part: Part): Fact[] {
  if (part.kind === 'text') {
    return part.text === '' ? [] : [{ kind: 'text', text: part.text, ...artifactOf(part) }];
  }
  if (part.kind !== 'data') return [];
  // Thoughts are frequent. This check avoids parsing each of them as a tool call.
  if (isObject(part.data) && 'tool_call_id' in part.data) {
    const call = ToolCall.safeParse(part.data).data;
    return call ? [{ kind: 'call', call }] : [];
  }
  if (isObject(part.data) && isCoderAgentCall(part.data)) {
    const call = readCoderAgentCall(part.data);
    return call ? [{ kind: 'call', call }] : [];
  }
  const thought = AgentThought.safeParse(part.data).data;
  return [
    thought ? { kind: 'thought', thought } : { kind: 'data', data: part.data, ...artifactOf(part) },
  ];
}

/** Returns all messages of a task, oldest first. The newest message may be in the task's status. */
export function messagesOf({ history = [], status }: Task): readonly Message[] {
  return status.message ? [...history, status.message] : history;
}

/**
 * Returns the facts in a task's messages, oldest first. Adds a `state` fact between a turn and the next prompt, and at
 * the end of a terminal task.
 */
export function readTask(task: Task): Fact[] {
  const { history = [], status } = task;
  const facts: Fact[] = [];
  const waiting = new WaitingCalls();
  const add = (fact: Fact): void => {
    facts.push(fact);
    waiting.take(fact);
  };
  const messages = isTerminal(status.state) ? history : messagesOf(task);
  for (const [index, message] of messages.entries()) {
    const next = messages[index + 1];
    // The agent's last message before a prompt is either part of its answer or the text of a state.
    const closes = message.role === 'agent' && next?.role === 'user' && isPrompt(next);
    const isText = !textPlace(message) && message.parts.every(({ kind }) => kind === 'text');
    if (!closes || !isText) for (const fact of readMessage(message)) add(fact);
    if (!closes) continue;
    // If a call waits, the turn continues after the prompt, which may answer the call in words.
    const state = waiting.calls.length > 0 ? 'input-required' : 'completed';
    add({ kind: 'state', state, text: isText ? textOf(message.parts) : '' });
  }
  if (isTerminal(status.state)) {
    const text = status.message ? textOf(status.message.parts) : '';
    add({ kind: 'state', state: status.state, text });
  }
  return facts;
}

function isPrompt(message: Message): boolean {
  return readMessage(message).some(({ kind }) => kind === 'prompt');
}

/**
 * Collects the text of a turn's answer, which is the text after the agent's last call. Pass every fact of the turn to
 * `take`.
 */
export class AnswerReader {
  #text = '';

  get text(): string {
    return this.#text;
  }

  take(fact: Fact): void {
    if (fact.kind === 'text') this.#text += fact.text;
    if (fact.kind === 'call' || (fact.kind === 'prompt' && !fact.besideAnswer)) this.#text = '';
  }
}

/**
 * Collects the calls that wait for a person's answer, oldest first. Pass every fact of the task to `take`. A prompt
 * from a person does not remove a call, because only the agent knows whether it takes the prompt as an answer.
 */
export class WaitingCalls {
  readonly #calls = new Map<string, ToolCall>();

  get calls(): readonly ToolCall[] {
    return [...this.#calls.values()];
  }

  take(fact: Fact): void {
    if (fact.kind === 'answer') this.#calls.delete(fact.confirmation.tool_call_id);
    if (fact.kind === 'state' && isTerminal(fact.state)) this.#calls.clear();
    if (fact.kind !== 'call') return;
    const { call } = fact;
    if (isAwaitingAnswer(call)) this.#calls.set(call.tool_call_id, call);
    else this.#calls.delete(call.tool_call_id);
  }

  clear(): void {
    this.#calls.clear();
  }
}

/** Returns the calls of a task that wait for a person's answer. */
export function waitingCallsIn(task: Task): readonly ToolCall[] {
  const waiting = new WaitingCalls();
  for (const fact of readTask(task)) waiting.take(fact);
  return waiting.calls;
}
