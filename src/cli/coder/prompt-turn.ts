/**
 * The turn of `parley -p`. Follows it to its end, without a person to ask: confirmation requests are declined, up to
 * MAX_DENIALS. Prints the answer to standard output. Progress goes to standard error, but only if standard error is a
 * terminal.
 */
import type { AgentClient, AgentStream } from '../../client/index.ts';
import {
  AnswerReader,
  confirmationOf,
  EXTENSION_URI,
  failureId,
  hasOption,
  isAwaitingAnswer,
  OPTION,
  readStatus,
  requestId,
  type Fact,
  type ToolCall,
} from '../../protocol/development-tool/index.ts';
import { codecOf, type StreamEvent, type Task, textOf } from '../../protocol/index.ts';
import { sayJson, shown } from '../program/terminal.ts';
import { createFactPrinter } from '../remote/fact-printer.ts';

/** The reason that the model gets for a declined call. */
const REASON = 'No person can be asked. Continue without this call, and say what was left undone.';
/** The client name in the list of approvals. */
const CLIENT = 'parley -p, without a person to ask';
/** Maximum number of calls that are declined in a turn. If more calls need an answer, the turn is canceled. */
const MAX_DENIALS = 20;

export interface TurnListener {
  event(event: StreamEvent): void;
  fact(fact: Fact): void;
  /** Called for each call that needs a confirmation, when it is declined. */
  denied(call: ToolCall): void;
}

export interface TurnOutcome {
  readonly task: Task;
  /**
   * The text of the last status. If it is empty, or if the turn was canceled because of MAX_DENIALS, this is the
   * agent's answer.
   */
  readonly text: string;
  /** The last state of each call, in the order in which the calls were made. */
  readonly calls: readonly ToolCall[];
  /** Whether a call that needed an approval was declined, or the turn was canceled because of MAX_DENIALS. */
  readonly denied: boolean;
  /** The error that the agent reported. */
  readonly problem?: string | undefined;
  /** The id that identifies the reason for the failure in the log. */
  readonly correlationId?: string | undefined;
}

/** Follows a turn, starting with its first stream. Aborting the signal cancels the task. */
export async function followTurn(
  agent: AgentClient,
  first: AgentStream,
  listener: TurnListener,
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const calls = new Map<string, ToolCall>();
  /**
   * The ids of declined requests, so that each request is declined only once. A declined call of a remote helper stays
   * PENDING until the helper has finished.
   */
  const declined = new Set<string>();
  let stream = first;
  const answer = new AnswerReader();
  let problem: string | undefined;
  let correlationId: string | undefined;
  let denials = 0;
  let denied = false;

  const cancel = (): void => {
    if (stream.task) agent.cancel(stream.task.id).catch(() => {});
  };
  signal.addEventListener('abort', cancel);
  try {
    for (;;) {
      for await (const { event } of stream) {
        if (event.kind === 'task') {
          if (signal.aborted) cancel();
          // Each later stream starts with the task, whose content has already been processed.
          if (stream !== first) continue;
        }
        listener.event(event);
        hear(event);
      }
      const { task } = stream;
      if (!task) throw new Error('the agent sent a message instead of a task');
      const open = [...calls.values()].filter(
        (call) => isAwaitingAnswer(call) && !declined.has(requestId(call)),
      );
      if (task.status.state !== 'input-required' || open.length === 0) {
        const text = statusText(task) || answer.text;
        return { task, text, calls: [...calls.values()], denied, problem, correlationId };
      }
      denials += open.length;
      if (denials > MAX_DENIALS) {
        const ended = await agent.cancel(task.id);
        return { task: ended, text: answer.text, calls: [...calls.values()], denied: true };
      }
      for (const call of open) {
        declined.add(requestId(call));
        if (isApproval(call)) denied = true;
        listener.denied(call);
      }
      const parts = open.map((call) => {
        const data = confirmationOf(call, OPTION.cancel, { reason: REASON });
        return { kind: 'data' as const, data };
      });
      stream = agent.stream(parts, {
        taskId: task.id,
        extensions: [EXTENSION_URI],
        metadata: { [EXTENSION_URI]: { client: CLIENT } },
      });
    }
  } finally {
    signal.removeEventListener('abort', cancel);
  }

  function hear(event: StreamEvent): void {
    if (event.kind !== 'status-update') return;
    const { about, facts } = readStatus(event);
    problem = about?.error ?? problem;
    correlationId = failureId(event) ?? correlationId;
    for (const fact of facts) {
      listener.fact(fact);
      answer.take(fact);
      if (fact.kind === 'call') calls.set(fact.call.tool_call_id, fact.call);
    }
  }
}

/** Returns whether the call needs an approval. A call that asks the user a question does not. */
export function isApproval(call: ToolCall): boolean {
  return hasOption(call, OPTION.once);
}

/** Returns the text of the last status. If the task has failed, this is the reason for the failure. */
function statusText({ status }: Task): string {
  return status.message?.role === 'agent' ? textOf(status.message.parts) : '';
}

/** The values of `--output`. */
export const FORMATS = ['text', 'json', 'stream-json'] as const;

/** The object that `--output json` prints. */
export interface PromptResult {
  readonly sessionId: string;
  readonly taskId: string;
  readonly state: string;
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
}

export function createPromptPrinter(format: (typeof FORMATS)[number]) {
  const printer = createFactPrinter({ answer: format === 'text', quiet: !process.stderr.isTTY });
  return {
    event(event: StreamEvent): void {
      // All events are printed in the wire format of A2A 0.3.
      if (format === 'stream-json') sayJson(codecOf('0.3', 'JSONRPC').encodeEvent(event));
    },
    fact: (fact: Fact) => printer.print(fact),
    end(result: PromptResult): void {
      if (format !== 'text') return sayJson(result);
      if (!printer.any && result.state === 'completed') printer.write(shown(result.text));
      printer.breakLine();
    },
  };
}
