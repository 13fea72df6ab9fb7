/**
 * One turn without a person at hand: follows it to its end, and declines whatever would need somebody to be asked, so
 * that it never waits.
 */
import type { AgentClient, AgentStream } from '../../client/index.ts';
import {
  EXTENSION_URI,
  type ToolCall,
  type ToolCallConfirmation,
} from '../../protocol/development-tool/index.ts';
import { type StreamEvent, type Task, textOf } from '../../protocol/index.ts';
import { isAsked, newsIn, problemIn } from '../remote/development-events.ts';

/** What the model hears of a call that is declined here. */
const NOBODY = 'nobody is there to be asked; do without it, and say what was left undone';
/** A model that asks for what it was denied more often than this is not heard any more. */
const MAX_DENIALS = 20;

export interface TurnListener {
  event(event: StreamEvent): void;
  /** A piece of the answer. */
  text(text: string): void;
  thought(subject: string): void;
  /** A call as it stands, each time that something happens to it. */
  call(call: ToolCall): void;
  /** Nobody can be asked about this call. */
  denied(call: ToolCall): void;
}

export interface TurnOutcome {
  readonly task: Task;
  /** The answer. */
  readonly text: string;
  /** In the order in which they were made, each as it stood last. */
  readonly calls: readonly ToolCall[];
  /** Something would have needed an approval. */
  readonly denied: boolean;
  /** What the agent says has gone wrong. */
  readonly problem?: string | undefined;
}

/** Follows a turn from its first stream on. When the signal is aborted the task is canceled, and the turn ends so. */
export async function followTurn(
  agent: AgentClient,
  first: AgentStream,
  listener: TurnListener,
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const calls = new Map<string, ToolCall>();
  let stream = first;
  let said = '';
  let problem: string | undefined;
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
          // What follows an answer begins with the task as it was, which has been seen.
          if (stream !== first) continue;
        }
        listener.event(event);
        hear(event);
      }
      const { task } = stream;
      if (!task) throw new Error('the agent answered without a task');
      const open = [...calls.values()].filter(isAsked);
      if (task.status.state !== 'input-required' || open.length === 0) {
        const text = answerIn(task) || said;
        return { task, text, calls: [...calls.values()], denied, problem };
      }
      denials += open.length;
      if (denials > MAX_DENIALS) {
        const ended = await agent.cancel(task.id);
        return { task: ended, text: said, calls: [...calls.values()], denied: true };
      }
      for (const call of open) {
        if (isApproval(call)) denied = true;
        listener.denied(call);
      }
      const parts = open.map((call) => ({ kind: 'data' as const, data: decline(call) }));
      stream = agent.stream(parts, { taskId: task.id, extensions: [EXTENSION_URI] });
    }
  } finally {
    signal.removeEventListener('abort', cancel);
  }

  function hear(event: StreamEvent): void {
    problem = problemIn(event) ?? problem;
    for (const news of newsIn(event)) {
      if (news.kind === 'text') {
        said += news.text;
        listener.text(news.text);
      } else if (news.kind === 'thought') {
        listener.thought(news.subject);
      } else {
        calls.set(news.call.tool_call_id, news.call);
        // What was said before a call was not the answer yet.
        said = '';
        listener.call(news.call);
      }
    }
  }
}

/** Not a question that the agent asks in its own words. */
export function isApproval({ confirmation_request }: ToolCall): boolean {
  return confirmation_request?.options.some(({ id }) => id === 'proceed_once') ?? false;
}

function decline({ tool_call_id, correlationId }: ToolCall): ToolCallConfirmation {
  return {
    tool_call_id,
    selected_option_id: 'cancel',
    reason: NOBODY,
    ...(correlationId !== undefined && { correlationId }),
  };
}

function answerIn({ status }: Task): string {
  return status.message?.role === 'agent' ? textOf(status.message.parts) : '';
}
