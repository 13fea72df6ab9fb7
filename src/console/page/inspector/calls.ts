/** The calls that the person makes to the agent. A call sends a message, or is an operation on a task. */
import { signal } from '@preact/signals';
import { seqOf } from '../../../client/index.ts';
import { serviceOf } from '../../../client/checks/index.ts';
import {
  type AgentInterface,
  type AgentService,
  type Message,
  type StreamEvent,
  type StreamItem,
  uuidv7,
} from '../../../protocol/index.ts';
import type { RecordedExchange } from './exchanges.ts';
import type { Inspection } from './inspection.ts';

export type TriedOperation = 'send' | 'stream' | 'get' | 'cancel' | 'replay';

export interface CallInput {
  readonly operation: TriedOperation;
  readonly offer: AgentInterface;
  readonly text: string;
  readonly taskId: string;
  readonly contextId: string;
  /** For `replay`: the id of the last event that the person has. If empty, the call asks for no earlier events. */
  readonly after: string;
}

/** A call with its requests. It may have several requests, for example if the agent redirects. */
export class TriedCall {
  readonly input: CallInput;
  readonly exchanges = signal<readonly RecordedExchange[]>([]);
  readonly running = signal(true);
  readonly error = signal<unknown>(undefined);
  /** The last task id that the agent has sent. Until the agent sends a task id, the id that the person has entered. */
  readonly taskId = signal('');
  readonly #stop = new AbortController();

  constructor(input: CallInput) {
    this.input = input;
    this.taskId.value = input.taskId;
  }

  stop(): void {
    this.#stop.abort();
  }

  async run(inspection: Inspection): Promise<void> {
    try {
      const agent = inspection.agent(
        (exchange) => (this.exchanges.value = [...this.exchanges.value, exchange]),
      );
      await this.#call(await serviceOf(agent, this.input.offer));
    } catch (error) {
      if (!this.#stop.signal.aborted) this.error.value = error;
    } finally {
      this.running.value = false;
    }
  }

  async #call(service: AgentService): Promise<void> {
    const { operation, taskId, after } = this.input;
    const options = { signal: this.#stop.signal };
    switch (operation) {
      case 'send':
        return this.#see(await service.sendMessage({ message: this.#message() }, options));
      case 'stream':
        return this.#follow(await service.streamMessage({ message: this.#message() }, options));
      case 'get':
        return this.#see(await service.getTask({ id: taskId }, options));
      case 'cancel':
        return this.#see(await service.cancelTask({ id: taskId }, options));
      default: {
        const seq = seqOf(after);
        // Other servers may have event ids that are not numbers. These ids are sent in the header Last-Event-ID.
        const call =
          after === '' || seq !== undefined
            ? options
            : { ...options, headers: { 'last-event-id': after } };
        const params = seq === undefined ? { id: taskId } : { id: taskId, after: seq };
        return this.#follow(await service.subscribe(params, call));
      }
    }
  }

  #message(): Message {
    const { text, taskId, contextId } = this.input;
    return {
      kind: 'message',
      messageId: uuidv7(),
      role: 'user',
      parts: [{ kind: 'text', text }],
      ...(taskId !== '' && { taskId }),
      ...(contextId !== '' && { contextId }),
    };
  }

  async #follow(items: AsyncIterable<StreamItem>): Promise<void> {
    for await (const { event } of items) this.#see(event);
  }

  #see(event: StreamEvent): void {
    const id = event.kind === 'task' ? event.id : event.taskId;
    if (id !== undefined) this.taskId.value = id;
  }
}
