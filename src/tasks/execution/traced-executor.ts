import { GEN_AI, GEN_AI_OPERATIONS, type Span, type Tracer } from '../../base/tracing/index.ts';
import type { A2AAgent, AgentExecutor, ExecutionContext, ExecutorEvent } from './executor.ts';

/**
 * Returns an executor with a span for each execution: from the message until the task has ended or waits. Spans that the
 * agent starts meanwhile become its children.
 */
export function tracedExecutor(agent: A2AAgent, tracer: Tracer): AgentExecutor {
  return {
    receive: agent.receive?.bind(agent),
    answersByContext: agent.answersByContext?.bind(agent),
    cancel: agent.cancel?.bind(agent),
    conclude: agent.conclude?.bind(agent),
    get rules() {
      return agent.rules;
    },
    get views() {
      return agent.views;
    },
    execute: (context) => traced(agent, tracer, context),
  };
}

async function* traced(
  agent: A2AAgent,
  tracer: Tracer,
  context: ExecutionContext,
): AsyncGenerator<ExecutorEvent> {
  const { name } = agent.profile;
  const span = tracer.start(`${GEN_AI_OPERATIONS.invokeAgent} ${name}`, {
    kind: 'server',
    attributes: {
      [GEN_AI.operation]: GEN_AI_OPERATIONS.invokeAgent,
      [GEN_AI.provider]: 'a2a',
      [GEN_AI.agentName]: name,
      [GEN_AI.conversation]: context.contextId,
    },
  });
  const inside = <T>(work: () => T): T => (span.run ? span.run(work) : work());
  try {
    const events = inside(() => agent.execute(context)[Symbol.asyncIterator]());
    try {
      for (;;) {
        const { done, value } = await inside(() => events.next());
        if (done === true) return;
        noteFailure(span, value);
        yield value;
      }
    } finally {
      await events.return?.();
    }
  } catch (error) {
    span.fail(context.signal.aborted ? 'canceled' : 'failed');
    throw error;
  } finally {
    span.end();
  }
}

/** The agent's own words stay out of the span: they may contain secrets. */
function noteFailure(span: Span, event: ExecutorEvent): void {
  if (typeof event !== 'object' || event.kind !== 'status-update') return;
  if (event.state === 'failed' || event.state === 'rejected') span.fail(event.state);
}
