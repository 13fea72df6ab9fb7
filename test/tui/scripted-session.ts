/**
 * A live session without an agent: a test says what happens in it. The log, its fold and the snapshots are real, and so
 * is the rule that the first answer counts.
 */
import { randomUUIDv7 } from 'node:crypto';
import type {
  LiveClient,
  LiveItem,
  LiveSession,
  QueuedPrompt,
} from '../../src/live/client/session.ts';
import {
  extensionMetadata,
  type DevelopmentToolEvent,
  type EventSource,
  type SlashCommand,
  type ToolCall,
  type ToolCallConfirmation,
} from '../../src/protocol/development-tool/index.ts';
import {
  A2AError,
  reduce,
  textOf,
  type Message,
  type Part,
  type Task,
  type TaskState,
  type TaskStatusUpdateEvent,
} from '../../src/protocol/index.ts';

export const TERMINAL: LiveClient = {
  id: 'terminal-1',
  name: 'terminal',
  kind: 'terminal',
  roles: ['view', 'prompt', 'approve'],
};
export const PHONE: LiveClient = { ...TERMINAL, id: 'a2a-2', name: 'phone', kind: 'a2a' };

export interface ScriptedOptions {
  readonly self?: LiveClient;
  readonly model?: string;
  readonly workspace?: string;
  readonly commands?: readonly SlashCommand[];
  /** What the agent does with a prompt. */
  readonly onPrompt?: (session: ScriptedSession, text: string) => Promise<void>;
}

type Answered = { readonly confirmation: ToolCallConfirmation; readonly by: string };

export class ScriptedSession implements LiveSession {
  readonly self: LiveClient;
  readonly #options: ScriptedOptions;
  readonly #readers = new Set<(item: LiveItem | undefined) => void>();
  readonly #answers = new Map<string, Answered>();
  readonly #waiting = new Map<string, (answered: Answered) => void>();
  readonly model: string;
  clientsNow: readonly LiveClient[];
  queued: readonly QueuedPrompt[] = [];
  task: Task;
  seq = 1;
  #closed = false;
  /** How many requests there were. Each has its own id. */
  #asked = 0;

  constructor(options: ScriptedOptions = {}) {
    this.#options = options;
    this.self = options.self ?? TERMINAL;
    this.model = options.model ?? 'scripted';
    this.clientsNow = [this.self];
    this.task = freshTask();
  }

  // What a client does.

  async *items(options: { after?: number; signal?: AbortSignal } = {}): AsyncGenerator<LiveItem> {
    const queue: (LiveItem | undefined)[] = [];
    let wake: (() => void) | undefined;
    const read = (item: LiveItem | undefined): void => {
      queue.push(item);
      wake?.();
    };
    const stop = (): void => read(undefined);
    this.#readers.add(read);
    options.signal?.addEventListener('abort', stop, { once: true });
    try {
      yield this.snapshot();
      yield this.#presence();
      while (!this.#closed && options.signal?.aborted !== true) {
        for (const item of queue.splice(0)) {
          if (item === undefined) return;
          yield item;
        }
        if (queue.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      this.#readers.delete(read);
      options.signal?.removeEventListener('abort', stop);
    }
  }

  async prompt(content: string | readonly Part[]) {
    const text = typeof content === 'string' ? content : textOf([...content]);
    this.heard(text, this.self);
    this.#play(text);
    return { queued: false, taskId: this.task.id };
  }

  async confirm(confirmation: ToolCallConfirmation): Promise<void> {
    this.answer(confirmation, this.self);
  }

  async cancel(): Promise<void> {
    this.state('canceled');
    this.task = freshTask();
    this.seq = 1;
    this.#tell(this.snapshot());
  }

  async commands(): Promise<readonly SlashCommand[]> {
    return this.#options.commands ?? [];
  }

  async execute() {
    return { execution_id: '', status: 'FAILED_TO_START' as const };
  }

  async clients(): Promise<readonly LiveClient[]> {
    return this.clientsNow;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#tell(undefined);
  }

  // What a test says.

  snapshot(): LiveItem & { kind: 'snapshot' } {
    const { id: taskId, contextId } = this.task;
    const { model, seq } = this;
    const place = { workspace: this.#options.workspace ?? '/project', approval: 'ask' };
    const task = structuredClone(this.task);
    return {
      kind: 'snapshot',
      snapshot: {
        taskId,
        contextId,
        task,
        pending: [],
        model,
        clients: this.clientsNow,
        seq,
        ...place,
      },
    };
  }

  present(clients: readonly LiveClient[], queued: readonly QueuedPrompt[] = []): void {
    this.clientsNow = clients;
    this.queued = queued;
    this.#tell(this.#presence());
  }

  /** Somebody prompts. The agent hears nothing of it unless it is this client. */
  heard(text: string, from: LiveClient): void {
    this.#status(
      'working',
      { kind: 'TEXT_CONTENT', source: sourceOf(from) },
      [{ kind: 'text', text }],
      'user',
    );
  }

  /** As if another client had prompted: the agent answers. */
  promptFrom(from: LiveClient, text: string): void {
    this.heard(text, from);
    this.#play(text);
  }

  say(text: string): void {
    this.#status('working', { kind: 'TEXT_CONTENT' }, [{ kind: 'text', text }]);
  }

  think(subject: string, description: string, continues = false): void {
    const data = { subject, description, ...(continues && { continues }) };
    this.#status('working', { kind: 'THOUGHT' }, [{ kind: 'data', data }]);
  }

  call(call: ToolCall): void {
    this.#status('working', { kind: 'TOOL_CALL_UPDATE' }, [{ kind: 'data', data: call }]);
  }

  /** Asks about a call, and resolves with what somebody chose. */
  async ask(call: ToolCall): Promise<Answered> {
    const { promise, resolve } = Promise.withResolvers<Answered>();
    this.#answers.delete(call.tool_call_id);
    this.#waiting.set(call.tool_call_id, resolve);
    this.#asked += 1;
    const correlationId = `${call.tool_call_id}-${this.#asked}`;
    this.call({ ...call, status: 'PENDING', correlationId });
    this.state('input-required');
    return promise;
  }

  /** Somebody answers. The first one counts. */
  answer(confirmation: ToolCallConfirmation, from: LiveClient): void {
    const id = confirmation.tool_call_id;
    const first = this.#answers.get(id);
    if (first) {
      const option = first.confirmation.selected_option_id;
      throw new A2AError('unsupportedOperation', `already resolved by ${first.by}: ${option}`, {
        reason: 'ALREADY_RESOLVED',
        info: { resolvedBy: first.by, selectedOptionId: option },
      });
    }
    const answered = { confirmation, by: from.name };
    this.#answers.set(id, answered);
    const source = sourceOf(from);
    const part: Part = { kind: 'data', data: { ...confirmation } };
    this.#status('working', { kind: 'TOOL_CALL_CONFIRMATION', source }, [part], 'user');
    this.#waiting.get(id)?.(answered);
  }

  state(
    state: TaskState,
    text?: string,
    more: Pick<DevelopmentToolEvent, 'usage' | 'approval'> = {},
  ): void {
    const parts: Part[] = text === undefined ? [] : [{ kind: 'text', text }];
    this.#status(state, { kind: 'STATE_CHANGE', ...more }, parts);
  }

  #play(text: string): void {
    this.#options.onPrompt?.(this, text).catch((error: unknown) => {
      this.state('failed', error instanceof Error ? error.message : String(error));
    });
  }

  #presence(): LiveItem {
    return { kind: 'presence', clients: this.clientsNow, queued: this.queued };
  }

  #status(
    state: TaskState,
    about: Omit<DevelopmentToolEvent, 'model'>,
    parts: Part[],
    role: Message['role'] = 'agent',
  ): void {
    const source = about.source && { metadata: { 'parley.source': about.source } };
    const message: Message = { kind: 'message', messageId: randomUUIDv7(), role, parts, ...source };
    const event: TaskStatusUpdateEvent = {
      kind: 'status-update',
      taskId: this.task.id,
      contextId: this.task.contextId,
      status: { state, ...(parts.length > 0 && { message }) },
      final: false,
      metadata: extensionMetadata({ ...about, model: this.model }),
    };
    this.task = reduce(this.task, event) ?? this.task;
    this.seq += 1;
    this.#tell({ kind: 'event', taskId: this.task.id, seq: this.seq, event });
  }

  #tell(item: LiveItem | undefined): void {
    for (const read of this.#readers) read(item);
  }
}

function freshTask(): Task {
  return {
    kind: 'task',
    id: randomUUIDv7(),
    contextId: 'conversation',
    status: { state: 'submitted' },
    history: [],
  };
}

function sourceOf({ id, name }: LiveClient): EventSource {
  return { client: id, name };
}
