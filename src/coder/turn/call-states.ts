/**
 * The calls of a task and the decisions about them. They are computed from the task's log, so every process gets the
 * same result. Only the first answer to a request is accepted.
 */
import type { Answer, Question } from '../../agent/index.ts';
import {
  alreadyResolved,
  type ConfirmationRequest,
  hasOption,
  isAwaitingAnswer,
  mayBeCommand,
  messagesOf,
  OPTION,
  readMessage,
  selectedOption,
  type ToolCall,
  type ToolCallConfirmation,
  wasAskedInWords,
} from '../../protocol/development-tool/index.ts';
import { A2AError, isTerminal, textOf, type Message, type Task } from '../../protocol/index.ts';
import { answerIn, approvalIn, exactOption, optionNamed } from '../approval/answers.ts';
import type { CallDecision } from '../approval/approvals.ts';
import { requestOf } from '../approval/confirmation-request.ts';
import { isQuoted, ownText } from '../approval/quoted.ts';
import { runsAsFunction } from '../commands/registry.ts';

export class CallStates {
  /** The calls by id, each in its latest state in the log. */
  readonly calls = new Map<string, ToolCall>();
  /** The decisions of people, oldest first. */
  readonly decisions: CallDecision[] = [];
  /** The accepted answers, by the ids of their calls. */
  readonly #resolved = new Map<string, Omit<CallDecision, 'call'>>();

  constructor(task: Task) {
    for (const message of messagesOf(task)) {
      const facts = readMessage(message);
      const answers = facts.some(({ kind }) => kind === 'answer');
      for (const fact of facts) {
        if (fact.kind === 'call') this.#note(fact.call);
        else if (fact.kind === 'answer') {
          const { tool_call_id: id, answer, reason } = fact.confirmation;
          const options = this.calls.get(id)?.confirmation_request?.options ?? [];
          const option = selectedOption(fact.confirmation, options);
          const words = answer ?? reason ?? ownText(message.parts);
          this.#resolve(id, { option, words, source: fact.source, message });
        } else if (fact.kind === 'prompt' && !answers && !runsAsFunction(message)) {
          this.#resolveAll({ words: ownText(message.parts), source: fact.source, message });
        }
      }
    }
  }

  /**
   * The calls that wait for an answer. A person's text answers all waiting calls, unless it is a built-in command that
   * runs code (`runsAsFunction`). Clients use `WaitingCalls` of the protocol instead. `WaitingCalls` ignores texts,
   * because clients do not know how the agent interprets a text.
   */
  get waiting(): ToolCall[] {
    return [...this.calls.values()].filter(
      (call) => isAwaitingAnswer(call) && !this.#resolved.has(call.tool_call_id),
    );
  }

  #note(call: ToolCall): void {
    const before = this.calls.get(call.tool_call_id);
    this.calls.set(call.tool_call_id, call);
    // A new request of the same call invalidates the answer to the previous request.
    const isNew = before?.correlationId !== call.correlationId;
    if (call.confirmation_request && isNew) this.#resolved.delete(call.tool_call_id);
  }

  #resolve(callId: string, said: Omit<CallDecision, 'call'>): void {
    if (this.#resolved.has(callId)) return;
    this.#resolved.set(callId, said);
    const call = this.calls.get(callId);
    if (call) this.decisions.push({ ...said, call });
  }

  /** Resolves all waiting calls with a text answer. */
  #resolveAll(said: Omit<CallDecision, 'call' | 'option'>): void {
    for (const { tool_call_id, confirmation_request: request } of this.waiting) {
      const option = request ? optionFor(said.words, request) : OPTION.words;
      this.#resolve(tool_call_id, { ...said, option });
    }
  }

  /**
   * Returns the accepted answer to a question, or undefined if there is none. After a crash, the run may not have
   * received this answer.
   */
  answerTo(question: Question): Answer | undefined {
    const { correlationId } = requestOf(question);
    const decision = this.decisions.find(({ call }) => call.correlationId === correlationId);
    return decision && answerIn(decision.message, question);
  }

  /**
   * Throws if the call is unknown, does not wait for an answer, or was already answered. Also throws if the correlation
   * id, the option or the content of the confirmation is invalid. `beside` is the text of the message that contains
   * the confirmation.
   */
  check(confirmation: ToolCallConfirmation, beside = ''): void {
    const { tool_call_id: id, correlationId } = confirmation;
    const call = this.calls.get(id);
    if (!call) throw new A2AError('invalidParams', `tool_call_id: there is no call ${id}`);
    const resolution = this.#resolved.get(id);
    if (resolution) throw tooLate(resolution);
    if (call.status !== 'PENDING' || !call.confirmation_request) {
      throw new A2AError('unsupportedOperation', `The call ${id} does not wait for an answer`, {
        info: { toolCallId: id, status: call.status },
      });
    }
    if (correlationId !== undefined && correlationId !== call.correlationId) {
      throw new A2AError('invalidParams', 'correlationId: does not match the open request');
    }
    const { options } = call.confirmation_request;
    const option = selectedOption(confirmation, options);
    if (!options.some((each) => each.id === option)) {
      const ids = options.map((each) => each.id).join(', ');
      throw new A2AError('invalidParams', `selected_option_id: must be one of ${ids}`);
    }
    checkContent(confirmation, beside);
  }
}

/**
 * Throws if the confirmation lacks the content that its option needs, or has content that its option does not use.
 * Unused content is refused, because the person expects it to take effect.
 */
function checkContent(confirmation: ToolCallConfirmation, beside: string): void {
  const { selected_option_id: option, file_details, answer } = confirmation;
  const refuse = (message: string): never => {
    throw new A2AError('invalidParams', message);
  };
  if (option === OPTION.modify && !file_details) refuse('file_details is required for "modify"');
  if (option !== OPTION.modify && file_details) {
    refuse(`file_details: allowed only with the option "modify", not with "${option}"`);
  }
  if (option === OPTION.words && answer === undefined && beside.trim() === '') {
    refuse('answer: required for the option "answer", unless the message has a text part');
  }
  if (option !== OPTION.words && answer !== undefined) {
    refuse(`answer: allowed only with the option "answer", not with "${option}"`);
  }
}

/**
 * Throws if a text cannot be the answer to the open questions of a task. This is the case if the text is empty, or if
 * it approves several calls that may not have been shown to its sender.
 *
 * `isActive` is true if the sender supports calls. Such a client sees the calls. Any other client sees the questions as
 * text in the status message. If the client that began or continued the turn supports calls, it does not get this text,
 * and it is not known whether another client has read the text (`wasAskedInWords`). In this case, a client that does
 * not support calls can approve with text only if at most one call waits for approval.
 */
export function checkWords(text: string, task: Task, isActive: boolean): void {
  if (text.trim() === '') {
    throw new A2AError(
      'invalidParams',
      'message.parts: the task waits for an answer; send a text or a ToolCallConfirmation',
    );
  }
  const { message } = task.status;
  if (isActive || (message && wasAskedInWords(message))) return;
  const approvals = callsAwaitingAnswer(task).filter((call) => hasOption(call, OPTION.once));
  const allows = ({ confirmation_request: request }: ToolCall): boolean => {
    const option = request && approvalIn(text, request.options);
    return option !== undefined && option !== OPTION.cancel;
  };
  if (approvals.length < 2 || !approvals.some(allows)) return;
  throw new A2AError(
    'invalidParams',
    'message.parts: the calls that wait for approval were not shown to this client; activate the development-tool extension and send a ToolCallConfirmation',
  );
}

/**
 * Returns whether a message that does not name the task answers the waiting calls of the task. If the calls need
 * approval, the text must be the name or id of an option of each call. Any other text may be the next prompt. If the
 * only waiting call is a question of the model or of an MCP server, any text answers it, except a slash command. A
 * message with a part that is not text or is quoted answers nothing.
 */
export function answersCalls({ parts }: Message, calls: readonly ToolCall[]): boolean {
  const text = textOf(parts).trim();
  if (text === '' || mayBeCommand(text)) return false;
  if (parts.some((part) => part.kind !== 'text' || isQuoted(part))) return false;
  const [first] = calls;
  if (!first) return false;
  if (calls.length === 1 && !hasOption(first, OPTION.once)) return true;
  return calls.every((call) => {
    const { options = [] } = call.confirmation_request ?? {};
    return hasOption(call, OPTION.once) && exactOption(text, options) !== undefined;
  });
}

/**
 * Returns the calls of a task that wait for an answer, as `CallStates.waiting` does. A task that has ended has no such
 * calls.
 */
export function callsAwaitingAnswer(task: Task): ToolCall[] {
  return isTerminal(task.status.state) ? [] : new CallStates(task).waiting;
}

function optionFor(words: string, { options }: ConfirmationRequest): string {
  if (!options.some(({ id }) => id === OPTION.once)) {
    return optionNamed(words, options)?.id ?? OPTION.words;
  }
  return approvalIn(words, options) ?? OPTION.cancel;
}

function tooLate({ source, option }: Omit<CallDecision, 'call'>): A2AError {
  const by = source?.name ?? source?.client ?? 'another client';
  return alreadyResolved(by, option, { resolvedBy: by, selectedOptionId: option });
}
