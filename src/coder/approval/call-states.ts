/**
 * The calls of a task and who has decided them, as the task's log shows them. Every process and every client that joins
 * late sees the same. An answer is accepted or refused by this: the first one to a request counts.
 */
import { yesOrNo } from '../../bridge/index.ts';
import {
  type ConfirmationRequest,
  type EventSource,
  isAwaitingAnswer,
  messagesOf,
  readMessage,
  type ToolCall,
  type ToolCallConfirmation,
} from '../../protocol/development-tool/index.ts';
import { A2AError, isTerminal, textOf, type Task } from '../../protocol/index.ts';
import { CANCEL, FREE_TEXT } from './confirmation-request.ts';

/** How a call was decided, and by whom. */
interface Resolution {
  readonly by: string;
  /** The option that was chosen. For an answer in words, the one that they amount to. */
  readonly option: string;
}

export class CallStates {
  /** By id, as the log has them last. */
  readonly calls = new Map<string, ToolCall>();
  readonly #resolved = new Map<string, Resolution>();

  constructor(task: Task) {
    for (const message of messagesOf(task)) {
      const facts = readMessage(message);
      const answers = facts.some(({ kind }) => kind === 'answer');
      for (const fact of facts) {
        if (fact.kind === 'call') this.#note(fact.call);
        else if (fact.kind === 'answer') this.#resolve(fact.confirmation, fact.source);
        else if (fact.kind === 'prompt' && !answers) {
          this.#resolveAll(textOf([...fact.parts]), fact.source);
        }
      }
    }
  }

  /** The calls that wait for an answer. */
  get waiting(): ToolCall[] {
    return [...this.calls.values()].filter(
      (call) => isAwaitingAnswer(call) && !this.#resolved.has(call.tool_call_id),
    );
  }

  #note(call: ToolCall): void {
    const before = this.calls.get(call.tool_call_id);
    this.calls.set(call.tool_call_id, call);
    // A new request of the same call: an answer to the one before does not count for it.
    const isNew = before?.correlationId !== call.correlationId;
    if (call.confirmation_request && isNew) this.#resolved.delete(call.tool_call_id);
  }

  #resolve(
    { tool_call_id, selected_option_id: option }: ToolCallConfirmation,
    source: EventSource | undefined,
  ): void {
    if (this.#resolved.has(tool_call_id)) return;
    this.#resolved.set(tool_call_id, { by: nameOf(source), option });
  }

  /** An answer in words answers every call that waits. A slash command answers none. */
  #resolveAll(words: string, source: EventSource | undefined): void {
    if (words.startsWith('/')) return;
    for (const { tool_call_id, confirmation_request: request } of this.waiting) {
      const option = request ? optionFor(words, request) : FREE_TEXT.id;
      this.#resolved.set(tool_call_id, { by: nameOf(source), option });
    }
  }

  /** Refuses a confirmation of an unknown call or a decided one, and one with an invalid option. */
  check(confirmation: ToolCallConfirmation): void {
    const { tool_call_id: id, selected_option_id: option, correlationId } = confirmation;
    const call = this.calls.get(id);
    if (!call) throw new A2AError('invalidParams', `tool_call_id: there is no call ${id}`);
    const resolution = this.#resolved.get(id);
    if (resolution) throw alreadyResolved(resolution);
    if (call.status !== 'PENDING' || !call.confirmation_request) {
      throw new A2AError('unsupportedOperation', `The call ${id} does not wait for an answer`, {
        info: { toolCallId: id, status: call.status },
      });
    }
    if (correlationId !== undefined && correlationId !== call.correlationId) {
      throw new A2AError('invalidParams', 'correlationId: this is not the request that waits');
    }
    const { options } = call.confirmation_request;
    if (!options.some((each) => each.id === option)) {
      const ids = options.map((each) => each.id).join(', ');
      throw new A2AError('invalidParams', `selected_option_id: must be one of ${ids}`);
    }
    if (option === 'modify' && !confirmation.file_details) {
      throw new A2AError('invalidParams', 'file_details is required for "modify"');
    }
  }
}

/** The calls of a task that wait for an answer. */
export function callsAwaitingAnswer(task: Task): ToolCall[] {
  return isTerminal(task.status.state) ? [] : new CallStates(task).waiting;
}

function optionFor(words: string, { options }: ConfirmationRequest): string {
  if (!options.some(({ id }) => id === 'proceed_once')) return FREE_TEXT.id;
  return yesOrNo(words) === true ? 'proceed_once' : CANCEL.id;
}

function nameOf(source: EventSource | undefined): string {
  return source ? (source.name ?? source.client) : 'another client';
}

function alreadyResolved({ by, option }: Resolution): A2AError {
  return new A2AError('unsupportedOperation', `already resolved by ${by}: ${option}`, {
    reason: 'ALREADY_RESOLVED',
    info: { resolvedBy: by, selectedOptionId: option },
  });
}
