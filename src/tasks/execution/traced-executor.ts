import { ActiveSpan, GEN_AI, GEN_AI_OPERATIONS, type Tracer } from '../../base/tracing/index.ts';
import type { A2AAgent, AgentExecutor, ExecutionContext, ExecutorEvent } from './executor.ts';

/**
 * Returns an executor with a span for each execution. A span lasts from the message until the task ends or waits. Its
 * parent is the caller's span, and spans that the agent starts during the execution become its children.
 */
export function tracedExecutor(agent: A2AAgent, tracer: Tracer): AgentExecutor {
  return {
    readsTraceparent: true,
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
  const span = new ActiveSpan(tracer, `${GEN_AI_OPERATIONS.invokeAgent} ${name}`, {
    kind: 'server',
    parent: context.traceparent,
    attributes: {
      [GEN_AI.operation]: GEN_AI_OPERATIONS.invokeAgent,
      [GEN_AI.provider]: 'a2a',
      [GEN_AI.agentName]: name,
      [GEN_AI.conversation]: context.contextId,
    },
  });
  try {
    for await (const event of span.iterate(() => agent.execute(context))) {
      noteFailure(span, event);
      yield event;
    }
  } catch (error) {
    span.fail(context.signal.aborted ? 'canceled' : 'failed');
    throw error;
  } finally {
    span.end();
  }
}

/** Records that the task failed, but not the agent's message, which may contain secrets. */
function noteFailure(span: ActiveSpan, event: ExecutorEvent): void {
  if (typeof event !== 'object' || event.kind !== 'status-update') return;
  if (event.state === 'failed' || event.state === 'rejected') span.fail(event.state);
}
