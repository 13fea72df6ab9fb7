/**
 * Makes a remote A2A agent usable like any other agent of the framework.
 *
 *   const weather = remoteAgent({ name: 'weather', description: 'Knows the weather', url: 'https://weather.example' });
 *   const team = sequentialAgent({ name: 'team', subAgents: [planner, weather] });
 *
 * Each session has one conversation (`contextId`) with the remote agent. In each turn, the remote agent receives the
 * part of the conversation since its last turn. The remote agent's output becomes partial events, then one complete
 * event. Its questions become questions of the run, and the answers are sent to the task that asked. Aborting a run, or
 * canceling a waiting run, cancels the remote task. The run's events contain the ids of the remote task. So a run can
 * continue after a crash, whether the remote agent is working or waiting for an answer.
 *
 * The remote agent is not trusted. Everything that it sends is used only as content. Its metadata cannot change the
 * state, the branch or the author, and cannot transfer the conversation. If the remote agent violates the protocol or
 * a limit, the run ends with an error event.
 */
import { reasonOf } from '../../base/index.ts';
import {
  type ActiveSpan,
  activeSpan,
  GEN_AI,
  GEN_AI_OPERATIONS,
} from '../../base/tracing/index.ts';
import type { Agent } from '../../agent/index.ts';
import {
  quote,
  RemoteAgentError,
  remoteErrorCode,
  remoteLimits,
  type AgentClient,
  type RemoteLimits,
} from '../../client/index.ts';
import { A2AError } from '../../protocol/index.ts';
import { remoteCall } from './call.ts';
import {
  remoteConnection,
  type RemoteConnection,
  type RemoteConnectionOptions,
} from './connection.ts';
import { openTasks } from './note.ts';
import { nextTurn, openQuestions, toNewTask, type RemoteTurn } from './turn.ts';

/** The options of `remoteAgent` that do not depend on the connection. */
export interface RemoteAgentProfile {
  /** The name of the agent. It must be unique among the agents of a run. */
  readonly name: string;
  /**
   * The purpose of the agent. Other agents use it to choose an agent. Default: the description on the card, or an empty
   * text until the card was fetched.
   */
  readonly description?: string;
  /** Whether a message that follows a completed task continues that task. Default: false (it starts a new task). */
  readonly continues?: boolean;
  readonly limits?: RemoteLimits;
}

/** The options of `remoteAgent`. */
export type RemoteAgentOptions = RemoteAgentProfile &
  (
    | RemoteConnectionOptions
    /**
     * An existing client, for example for an agent in the same process. The client has its own credentials and
     * protocol version.
     */
    | { readonly client: AgentClient }
  );

const MAX_DESCRIPTION = 1000;

/**
 * Makes an agent of the framework from a remote A2A agent.
 *
 *   const weather = remoteAgent({ name: 'weather', url: 'http://localhost:4000' });
 */
export function remoteAgent(options: RemoteAgentOptions): Agent {
  const { name, description, continues = false } = options;
  const limits = remoteLimits(options.limits);
  const connection =
    'client' in options ? fixed(options.client) : remoteConnection(options, limits);

  return {
    name,
    get description() {
      return description ?? quote(connection.card?.description ?? '', MAX_DESCRIPTION);
    },
    subAgents: [],
    async *run(context) {
      const { signal } = context;
      signal.throwIfAborted();
      const open = openQuestions(context);
      // Open questions are asked again, because a composite agent (for example `sequentialAgent`) reads the questions
      // from the events of its sub-agents.
      for (const [id, question] of open) yield context.question(id, question);
      let turn = open.length > 0 ? undefined : nextTurn(context, name, continues);
      while (turn) {
        const span = callSpan(name);
        const call = remoteCall(connection, context, turn, { limits, continues, span });
        try {
          yield* span?.iterate(() => call.events()) ?? call.events();
          return;
        } catch (error) {
          span?.fail(signal.aborted ? 'canceled' : remoteErrorCode(error));
          signal.throwIfAborted();
          if (call.received || !isOver(error, turn)) {
            const code = remoteErrorCode(error);
            const said = quote(reasonOf(error), MAX_DESCRIPTION);
            // The card is fetched again next time, because the agent may have moved to another address.
            if (code === 'remote-unreachable') connection.forget();
            yield call.failure(new RemoteAgentError(code, `the remote agent ${name}: ${said}`));
            return;
          }
          turn = toNewTask(turn);
        } finally {
          span?.end();
        }
      }
    },
    async cancel({ events, ...run }) {
      const tasks = openTasks(events, name, run.runId);
      if (tasks.length === 0) return;
      const signal = AbortSignal.any([run.signal, AbortSignal.timeout(limits.cancelMs)]);
      const client = await connection.open(run, signal);
      await Promise.allSettled(tasks.map((id) => client.cancel(id, { signal })));
    },
  };
}

/** Starts a span for a turn of the remote agent, if the run is within a span. */
function callSpan(name: string): ActiveSpan | undefined {
  return activeSpan()?.child(`${GEN_AI_OPERATIONS.invokeAgent} ${name}`, {
    kind: 'client',
    attributes: {
      [GEN_AI.operation]: GEN_AI_OPERATIONS.invokeAgent,
      [GEN_AI.provider]: 'a2a',
      [GEN_AI.agentName]: name,
    },
  });
}

function fixed(client: AgentClient): RemoteConnection {
  return { card: client.card, open: async () => client, forget() {} };
}

/** Returns whether the remote agent refused a new message because the message's task has ended or no longer exists. */
function isOver(error: unknown, { fresh, taskId }: RemoteTurn): boolean {
  return (
    fresh &&
    taskId !== undefined &&
    error instanceof A2AError &&
    (error.kind === 'taskNotFound' || error.kind === 'unsupportedOperation')
  );
}
